package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"usher/runtime"
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
			return c.unknownAgent(ctx, u, err)
		}
		info, err := agent.Info(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			return s.printJSON(info)
		}
		rows := [][]string{
			{"agent", info.AgentID},
			{"status", info.Status},
			{"capabilities", info.Caps.String()},
		}
		brief, briefErr := agent.Brief(ctx)
		works := info.Status != agents.Suspended && info.Status != agents.Terminated
		switch {
		case briefErr == nil:
			rows = append(rows, []string{"tools offered", offered(brief.Tools)})
		case works:
			return briefErr
		}
		rows = append(rows, []string{"sessions", fmt.Sprint(info.Sessions)})
		if info.Inbox > 0 {
			left, err := c.inbox(ctx, agent)
			if err != nil {
				return err
			}
			rows = append(rows, left...)
		}
		if err := s.table(append(rows, budgetRows(info)...)); err != nil {
			return err
		}
		if briefErr != nil {
			s.note(c.explain(agent, briefErr).Error())
			return nil
		}
		_, err = fmt.Fprintf(s.out, "\n%s\n%s\n", s.paint.dim("What its model is told:"), s.paint.safe(brief.System))
		return err
	})
}

func offered(tools []runtime.Tool) string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	if len(names) == 0 {
		return "(none)"
	}
	return strings.Join(names, ", ")
}

// inbox tells where messages wait, and how they are heard.
func (c *agentsShowCmd) inbox(ctx context.Context, agent *venue.Agent) (rows [][]string, err error) {
	list, err := agent.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	for _, ses := range list {
		if ses.Waiting == 0 {
			continue
		}
		hear := "chat " + c.Agent
		if ses.ID != mainSession {
			hear += " --session " + ses.ID
		}
		rows = append(rows, []string{"messages waiting", fmt.Sprintf("%d (heard at the next turn in session %s: %s)", ses.Waiting, ses.ID, c.command(hear))})
	}
	return rows, nil
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
		id := fmt.Sprint(input["agentId"])
		out, err := u.Invoke(ctx, operation, input)
		if err != nil {
			return f.unknownAgent(ctx, u, err)
		}
		var state struct {
			Status                    string
			Created, Updated, Removed bool
		}
		if err := json.Unmarshal(out, &state); err != nil {
			return err
		}
		if operation == "agent:delete" {
			defer f.outlived(s, id, state.Removed)
		}
		if asJSON {
			return s.printJSON(out)
		}
		if operation == "agent:create" && !state.Created && !state.Updated {
			return fmt.Errorf("agent %s exists already, %s: --overwrite replaces it", id, state.Status)
		}
		if state.Removed {
			state.Status = "removed"
		}
		_, err = fmt.Fprintf(s.out, "%s is %s\n", id, state.Status)
		return err
	})
}
