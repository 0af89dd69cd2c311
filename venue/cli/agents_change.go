package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"usher/tools/agents"
	"usher/tools/form"
	"usher/venue"
)

type agentsCreateCmd struct {
	onAgent
	Spec string `name:"spec" placeholder:"JSON|@FILE" help:"The agent: prompt, model, tools, context, output and caps. Without it, the configuration's agent of that id."`

	Overwrite bool `help:"Replace an agent of this id, even one that has ended."`
}

func (c *agentsCreateCmd) Run(ctx context.Context, s *streams) error {
	if err := agents.CheckID(c.Agent); err != nil {
		return misuse{err}
	}
	if c.Spec == "" {
		return c.asConfigured(ctx, s)
	}
	written, err := s.argument(c.Spec)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(strings.TrimSpace(written), "{") {
		return misusef("--spec is not a JSON object: write {\"prompt\": …, \"caps\": […]}")
	}
	var spec agents.Spec
	if err := json.Unmarshal([]byte(written), &spec); err != nil {
		return misusef("--spec: %w", err)
	}
	set, _ := spec.Caps.Set()
	s.noteAbilities(set)
	return c.create(ctx, s, &spec)
}

// asConfigured creates the agent that the configuration has under the id. An id
// that it lacks makes none: that agent would have no bounds, by a slip of the hand.
func (c *agentsCreateCmd) asConfigured(ctx context.Context, s *streams) error {
	if _, err := c.load(s); err != nil {
		return err
	}
	if spec, ok := c.entry(c.Agent); ok {
		return c.create(ctx, s, &spec)
	}
	meant := form.Meant(c.Agent, names(c.config.Agents, ofSpec))
	if meant != "" {
		meant = "; " + meant
	}
	return misusef("%s has no agent %q: give the new one with --spec, its caps included%s", c.Config, c.Agent, meant)
}

func (c *agentsCreateCmd) create(ctx context.Context, s *streams, spec *agents.Spec) error {
	if !spec.Caps.Present() && spec.Parent == "" {
		s.warn(c.Agent + ` has no caps, and so no bounds: write "caps": [] for nothing, or what it may do`)
	}
	input := map[string]any{"agentId": c.Agent, "config": spec, "overwrite": c.Overwrite}
	return change(ctx, s, &c.onAgent, "agent:create", input, func(a agents.Created) (string, error) {
		if !a.Created && !a.Updated {
			return "", fmt.Errorf("agent %s exists already, %s: --overwrite replaces it", a.AgentID, a.Status)
		}
		return a.Status, nil
	})
}

// agentsTurnCmd is suspend and resume: operations of the command's name.
type agentsTurnCmd struct{ onAgent }

func (c *agentsTurnCmd) Run(ctx context.Context, s *streams, called *kong.Context) error {
	input := map[string]string{"agentId": c.Agent}
	return change(ctx, s, &c.onAgent, "agent:"+called.Selected().Name, input, func(a agents.State) (string, error) { return a.Status, nil })
}

type agentsDeleteCmd struct {
	onAgent
	Remove bool `help:"Remove the record and the sessions too."`
}

func (c *agentsDeleteCmd) Run(ctx context.Context, s *streams) error {
	c.ends = c.Agent
	input := map[string]any{"agentId": c.Agent, "remove": c.Remove}
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		err := changed(ctx, s, &c.onAgent, u, "agent:delete", input, func(a agents.Deleted) (string, error) {
			if a.Removed {
				return "removed", nil
			}
			return a.Status, nil
		})
		if err != nil {
			return err
		}
		return c.noteSchedules(ctx, s, u, c.Agent)
	})
}

type agentsAdoptCmd struct {
	onVenue
	Adopted string `arg:"" help:"The agent's id, or the path of a program such as o/report."`
}

func (c *agentsAdoptCmd) Run(ctx context.Context, s *streams) error {
	input := map[string]string{"agentId": c.Adopted}
	if strings.Contains(c.Adopted, "/") { // as no id does
		input = map[string]string{"path": c.Adopted}
	}
	return change(ctx, s, &onAgent{c.onVenue, c.Adopted}, "agent:adopt", input, func(agents.Adopted) (string, error) { return "adopted", nil })
}

// change runs an operation on an agent and prints what came of it: as JSON, or as
// the status that there is now.
func change[Out any](ctx context.Context, s *streams, c *onAgent, operation string, input any, status func(Out) (string, error)) error {
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		return changed(ctx, s, c, u, operation, input, status)
	})
}

// changed is change in a venue that is open.
func changed[Out any](ctx context.Context, s *streams, c *onAgent, u *venue.User, operation string, input any, status func(Out) (string, error)) error {
	out, err := ask[Out](ctx, u, operation, input)
	if err != nil {
		return err
	}
	now, err := status(out)
	if err != nil && !c.JSON {
		return err
	}
	return s.answer(c.JSON, out, c.Agent+" is "+now+"\n")
}
