package cli

import (
	"context"
	"encoding/json"
	"fmt"
)

type agentsCreateCmd struct {
	fromConfig
	Agent string `arg:"" help:"Id of the new agent."`
	Spec  string `name:"spec" placeholder:"JSON|@FILE" help:"prompt, model, tools, context, output and caps. Without it, an agent of the configuration is made as it stands there."`
	JSON  bool   `name:"json" help:"Print as JSON."`

	Overwrite bool `help:"Replace an agent that has this id, also one that has ended."`
}

func (c *agentsCreateCmd) Run(ctx context.Context, s *streams) error {
	written, err := argument(c.Spec)
	if err != nil {
		return err
	}
	if c.Spec == "" {
		return c.asConfigured(ctx, s)
	}
	var spec map[string]json.RawMessage
	if err := json.Unmarshal([]byte(written), &spec); err != nil {
		return misusef("--spec is not a JSON object: %w", err)
	}
	_, bounded := spec["caps"]
	return c.create(ctx, s, json.RawMessage(written), bounded)
}

// asConfigured creates the agent that the configuration has of the id; where it
// has none, a new one of which nothing is said. That takes nobody's place: it
// would have no bounds where the one before may have had some.
func (c *agentsCreateCmd) asConfigured(ctx context.Context, s *streams) error {
	conf, err := c.load()
	if err != nil {
		return err
	}
	c.config = conf
	spec, ok := c.entry(c.Agent)
	if !ok && c.Overwrite {
		return misusef("%s has no agent %q: say with --spec what is to take its place, caps included", c.Config, c.Agent)
	}
	if !ok {
		return c.create(ctx, s, struct{}{}, false)
	}
	_, bounded := spec.Caps.Set()
	return c.create(ctx, s, spec, bounded || spec.Parent != "")
}

func (c *agentsCreateCmd) create(ctx context.Context, s *streams, spec any, bounded bool) error {
	if !bounded {
		fmt.Fprintf(s.err, "%s %s has no caps and so no bounds: write \"caps\": [] for nothing, or what it may do\n", s.notes.warn("note:"), c.Agent)
	}
	return c.change(ctx, s, c.JSON, "agent:create", map[string]any{
		"agentId": c.Agent, "config": spec, "overwrite": c.Overwrite,
	})
}
