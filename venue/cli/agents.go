package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"usher/runtime"
	"usher/tools/agents"
	"usher/venue"
)

type agentsCmd struct {
	List    agentsListCmd   `cmd:"" help:"List the agents."`
	Show    agentsShowCmd   `cmd:"" help:"Show an agent: status, effective capabilities, and what its model is told."`
	Create  agentsCreateCmd `cmd:"" help:"Create an agent."`
	Suspend agentsTurnCmd   `cmd:"" help:"Suspend an agent: it takes no work."`
	Resume  agentsTurnCmd   `cmd:"" help:"Resume a suspended agent."`
	Delete  agentsDeleteCmd `cmd:"" help:"End an agent."`
	Adopt   agentsAdoptCmd  `cmd:"" help:"Put an agent that others created, or a program that others wrote, below you: it works on when they are suspended or ended."`
}

// onAgent is what commands on one agent take.
type onAgent struct {
	fromConfig
	Agent string `arg:"" help:"The agent's id."`
	JSON  bool   `name:"json" help:"Print as JSON."`
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
		infos := make([]agents.Info, len(list))
		var idle []string
		rows := [][]string{{"AGENT", "STATUS", "CAPABILITIES", "BELOW", "DESCRIPTION"}}
		for i, item := range list {
			info, err := ask[agents.Info](ctx, u, "agent:info", map[string]string{"agentId": item.AgentID})
			if err != nil {
				return err
			}
			infos[i] = info
			rows = append(rows, []string{info.AgentID, info.Status, info.Caps.String(), orDash(strings.Join(info.Creators, ", ")), info.Config.Description})
			if len(info.Lost) > 0 {
				idle = append(idle, c.idle(info))
			}
		}
		if c.JSON {
			return s.printJSON(infos)
		}
		if err := s.table(rows); err != nil {
			return err
		}
		for _, why := range idle {
			s.note(why)
		}
		return nil
	})
}

// idle says why an agent may do nothing that could do something, and what helps.
func (f *fromConfig) idle(info agents.Info) string {
	var above []string
	for _, giver := range info.Lost {
		above = append(above, giver.AgentID+" is "+giver.Status)
	}
	return fmt.Sprintf("%s may do nothing, since it is bounded by others and %s: %s puts it below you", info.AgentID, strings.Join(above, ", "), f.command("agents adopt "+info.AgentID))
}

type agentsShowCmd struct{ onAgent }

// shown is what agents show prints as JSON: with what its model is told, where the
// agent takes work.
type shown struct {
	agents.Info
	Offered []string `json:"toolsOffered"`
	System  string   `json:"system"`
}

func (c *agentsShowCmd) Run(ctx context.Context, s *streams) error {
	return c.withAgent(ctx, s, c.Agent, func(_ *venue.User, agent *venue.Agent) error {
		info, err := agent.Info(ctx)
		if err != nil {
			return err
		}
		brief, briefErr := agent.Brief(ctx)
		works := info.Status != agents.Suspended && info.Status != agents.Terminated
		if briefErr != nil && works {
			return briefErr
		}
		tools := offered(brief.Tools)
		if c.JSON {
			return s.printJSON(shown{info, tools, brief.System})
		}
		rows := [][]string{{"agent", info.AgentID}, {"status", info.Status}, {"capabilities", info.Caps.String()}}
		if len(info.Creators) > 0 {
			rows = append(rows, []string{"below", strings.Join(info.Creators, ", ")})
		}
		if info.Config.Identity == agents.IdentityOwn {
			rows = append(rows, []string{"acts as", info.DID})
		}
		if briefErr == nil {
			rows = append(rows, []string{"tools offered", cmp.Or(strings.Join(tools, ", "), "(none)")})
		}
		rows = append(rows, []string{"sessions", fmt.Sprint(info.Sessions)})
		if info.Inbox > 0 {
			rows = append(rows, []string{"messages waiting", fmt.Sprintf("%d, heard at the next turn of their session", info.Inbox)})
		}
		if err := s.table(append(rows, budgetRows(info)...)); err != nil {
			return err
		}
		if len(info.Lost) > 0 {
			s.note(c.idle(info))
		}
		if briefErr != nil {
			s.note(c.explain(agent, briefErr).Error())
			return nil
		}
		_, err = fmt.Fprintf(s.out, "\n%s\n%s\n", s.paint.dim("What its model is told:"), s.paint.safe(brief.System))
		return err
	})
}

func offered(tools []runtime.Tool) []string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	return names
}
