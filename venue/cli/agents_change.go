package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"usher/tools/agents"
	"usher/venue"
)

type agentsCreateCmd struct {
	fromConfig
	Agent string `arg:"" help:"Id of the new agent."`
	Spec  string `name:"spec" placeholder:"JSON|@FILE" help:"The agent: prompt, model, tools, context, output and caps. Without it, the configuration's agent of that id."`
	JSON  bool   `name:"json" help:"Print as JSON."`

	Overwrite bool `help:"Replace an agent of this id, even one that has ended."`
}

func (c *agentsCreateCmd) Run(ctx context.Context, s *streams) error {
	if c.Spec == "" {
		return c.asConfigured(ctx, s)
	}
	written, err := argument(c.Spec)
	if err != nil {
		return err
	}
	var spec map[string]json.RawMessage
	if err := json.Unmarshal([]byte(written), &spec); err != nil {
		return misusef("--spec is not a JSON object: %w", err)
	}
	_, bounded := spec["caps"]
	return c.create(ctx, s, json.RawMessage(written), bounded)
}

// asConfigured creates the agent that the configuration has under the id. An id
// that it lacks makes an agent without bounds, which replaces no other: that one
// may have had some.
func (c *agentsCreateCmd) asConfigured(ctx context.Context, s *streams) (err error) {
	if c.config, err = c.load(); err != nil {
		return err
	}
	spec, ok := c.entry(c.Agent)
	if !ok && c.Overwrite {
		return misusef("%s has no agent %q: give the new one with --spec, its caps included", c.Config, c.Agent)
	}
	_, bounded := spec.Caps.Set()
	return c.create(ctx, s, spec, bounded || spec.Parent != "")
}

func (c *agentsCreateCmd) create(ctx context.Context, s *streams, spec any, bounded bool) error {
	if !bounded {
		s.warn(c.Agent + ` has no caps, and so no bounds: write "caps": [] for nothing, or what it may do`)
	}
	input := map[string]any{"agentId": c.Agent, "config": spec, "overwrite": c.Overwrite}
	return change(ctx, s, &c.fromConfig, "agent:create", input, func(a agents.Created) error {
		if !c.JSON && !a.Created && !a.Updated {
			return fmt.Errorf("agent %s exists already, %s: --overwrite replaces it", a.AgentID, a.Status)
		}
		return s.printStatus(c.JSON, a, a.AgentID, a.Status)
	})
}

// agentsTurnCmd is suspend and resume: operations of the command's name.
type agentsTurnCmd struct{ onAgent }

func (c *agentsTurnCmd) Run(ctx context.Context, s *streams, called *kong.Context) error {
	return change(ctx, s, &c.fromConfig, "agent:"+called.Selected().Name, map[string]string{"agentId": c.Agent}, func(a agents.State) error {
		return s.printStatus(c.JSON, a, a.AgentID, a.Status)
	})
}

type agentsDeleteCmd struct {
	onAgent
	Remove bool `help:"Remove the record and the sessions too."`
}

func (c *agentsDeleteCmd) Run(ctx context.Context, s *streams) error {
	input := map[string]any{"agentId": c.Agent, "remove": c.Remove}
	return change(ctx, s, &c.fromConfig, "agent:delete", input, func(a agents.Deleted) error {
		defer c.outlived(s, a.AgentID, a.Removed)
		status := a.Status
		if a.Removed {
			status = "removed"
		}
		return s.printStatus(c.JSON, a, a.AgentID, status)
	})
}

type agentsAdoptCmd struct {
	fromConfig
	Adopted string `arg:"" help:"The agent's id, or the path of a program such as o/report."`
	JSON    bool   `name:"json" help:"Print as JSON."`
}

func (c *agentsAdoptCmd) Run(ctx context.Context, s *streams) error {
	input := map[string]string{"agentId": c.Adopted}
	if strings.Contains(c.Adopted, "/") { // as no id does
		input = map[string]string{"path": c.Adopted}
	}
	return change(ctx, s, &c.fromConfig, "agent:adopt", input, func(a agents.Adopted) error {
		return s.printStatus(c.JSON, a, c.Adopted, "adopted")
	})
}

// change runs an operation on an agent and shows what came of it.
func change[Out any](ctx context.Context, s *streams, f *fromConfig, operation string, input any, show func(Out) error) error {
	return f.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		out, err := ask[Out](ctx, u, operation, input)
		if err != nil {
			return f.unknownAgent(ctx, u, err)
		}
		return show(out)
	})
}

// printStatus says what a change made of an agent or a program.
func (s *streams) printStatus(asJSON bool, out any, name, status string) error {
	if asJSON {
		return s.printJSON(out)
	}
	_, err := fmt.Fprintf(s.out, "%s is %s\n", name, status)
	return err
}
