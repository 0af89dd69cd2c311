package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"usher/tools/agents"
	"usher/venue"
)

type agentsCmd struct {
	List    agentsListCmd    `cmd:"" help:"List the agents."`
	Show    agentsShowCmd    `cmd:"" help:"Show an agent: status, effective capabilities, and what its model is told."`
	Create  agentsCreateCmd  `cmd:"" help:"Create an agent."`
	Suspend agentsSuspendCmd `cmd:"" help:"Suspend an agent: it takes no work."`
	Resume  agentsResumeCmd  `cmd:"" help:"Resume a suspended agent."`
	Delete  agentsDeleteCmd  `cmd:"" help:"End an agent."`
}

type agentsListCmd struct {
	fromConfig
	JSON bool `name:"json" help:"Print as JSON."`
}

func (c *agentsListCmd) Run(ctx context.Context, s *streams) error {
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		list, err := u.Agents(ctx)
		if err != nil {
			return err
		}
		infos := make([]agents.Info, 0, len(list))
		for _, item := range list {
			agent, err := u.Agent(ctx, item.AgentID)
			if err != nil {
				return err
			}
			info, err := agent.Info(ctx)
			if err != nil {
				return err
			}
			infos = append(infos, info)
		}
		if c.JSON {
			return s.printJSON(infos)
		}
		rows := [][]string{{"AGENT", "STATUS", "CAPABILITIES", "DESCRIPTION"}}
		for _, info := range infos {
			rows = append(rows, []string{info.AgentID, info.Status, info.Caps.String(), info.Config.Description})
		}
		return s.table(rows)
	})
}

type agentsShowCmd struct {
	fromConfig
	Agent string `arg:"" help:"The agent's id."`
	JSON  bool   `name:"json" help:"Print as JSON."`
}

func (c *agentsShowCmd) Run(ctx context.Context, s *streams) error {
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		agent, err := u.Agent(ctx, c.Agent)
		if err != nil {
			return unknownAgent(ctx, u, err)
		}
		info, err := agent.Info(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			return s.printJSON(info)
		}
		brief, err := agent.Brief(ctx)
		if err != nil {
			return err
		}
		offered := make([]string, len(brief.Tools))
		for i, t := range brief.Tools {
			offered[i] = t.Name
		}
		if len(offered) == 0 {
			offered = []string{"(none)"}
		}
		err = s.table(append([][]string{
			{"agent", info.AgentID},
			{"status", info.Status},
			{"capabilities", info.Caps.String()},
			{"tools offered", strings.Join(offered, ", ")},
			{"sessions", fmt.Sprint(info.Sessions)},
		}, budgetRows(info)...))
		fmt.Fprintf(s.out, "\n%s\n%s\n", s.paint.dim("What its model is told:"), s.paint.safe(brief.System))
		return err
	})
}

type agentsCreateCmd struct {
	fromConfig
	Agent string `arg:"" help:"Id of the new agent."`
	Spec  string `name:"spec" default:"{}" placeholder:"JSON|@FILE" help:"prompt, model, tools, context, output and caps."`
	JSON  bool   `name:"json" help:"Print as JSON."`

	Overwrite bool `help:"Replace an agent that has this id, also one that has ended."`
}

func (c *agentsCreateCmd) Run(ctx context.Context, s *streams) error {
	spec, err := argument(c.Spec)
	if err != nil {
		return err
	}
	var written map[string]json.RawMessage
	if err := json.Unmarshal([]byte(spec), &written); err != nil {
		return misusef("--spec is not a JSON object: %w", err)
	}
	if _, bounded := written["caps"]; !bounded {
		fmt.Fprintf(s.err, "%s %s has no caps and so no bounds: write \"caps\": [] for nothing, or what it may do\n", s.notes.warn("note:"), c.Agent)
	}
	return c.change(ctx, s, c.JSON, "agent:create", map[string]any{
		"agentId": c.Agent, "config": json.RawMessage(spec), "overwrite": c.Overwrite,
	})
}

type agentsSuspendCmd struct {
	fromConfig
	Agent string `arg:"" help:"The agent's id."`
	JSON  bool   `name:"json" help:"Print as JSON."`
}

func (c *agentsSuspendCmd) Run(ctx context.Context, s *streams) error {
	return c.change(ctx, s, c.JSON, "agent:suspend", map[string]any{"agentId": c.Agent})
}

type agentsResumeCmd struct {
	fromConfig
	Agent string `arg:"" help:"The agent's id."`
	JSON  bool   `name:"json" help:"Print as JSON."`
}

func (c *agentsResumeCmd) Run(ctx context.Context, s *streams) error {
	return c.change(ctx, s, c.JSON, "agent:resume", map[string]any{"agentId": c.Agent})
}

type agentsDeleteCmd struct {
	fromConfig
	Agent  string `arg:"" help:"The agent's id."`
	Remove bool   `help:"Remove the record and the sessions too."`
	JSON   bool   `name:"json" help:"Print as JSON."`
}

func (c *agentsDeleteCmd) Run(ctx context.Context, s *streams) error {
	return c.change(ctx, s, c.JSON, "agent:delete", map[string]any{"agentId": c.Agent, "remove": c.Remove})
}

// change runs an operation on an agent and prints what came of it.
func (f *fromConfig) change(ctx context.Context, s *streams, asJSON bool, operation string, input map[string]any) error {
	return f.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		out, err := u.Invoke(ctx, operation, input)
		if err != nil {
			return unknownAgent(ctx, u, err)
		}
		if asJSON {
			return s.printJSON(out)
		}
		var state struct {
			Status  string
			Created *bool
		}
		if err := json.Unmarshal(out, &state); err != nil {
			return err
		}
		if state.Created != nil && !*state.Created {
			return fmt.Errorf("agent %s exists already, %s", input["agentId"], state.Status)
		}
		fmt.Fprintf(s.out, "%s is %s\n", input["agentId"], state.Status)
		return nil
	})
}
