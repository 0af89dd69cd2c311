// Package a2a is the demo of authority for one task: an agent elsewhere asks the agent
// documents of a venue for a capability, by A2A, and gets handles in place of paths. It hands
// a narrower one on with a task, and a document that it is of tells the agent's model to do
// other things, which the model tries.
//
// [Demo] runs it, over the wire and by the venue's own port. What must come of each step
// stands beside it and is checked.
package a2a

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"usher/runtime"
	"usher/tools/lending"
	"usher/venue"
	face "usher/venue/a2a"
	"usher/venue/cli"
	"usher/venue/config"
	"usher/venue/server"
)

//go:embed usher.yaml
var house []byte

// errUnexpected: something in the demo came out otherwise than it must.
var errUnexpected = errors.New("the demo did not come out as it must")

// step is what is done, and what came of it.
type step struct {
	Title   string `json:"title"`
	Outcome string `json:"outcome"`
	Good    bool   `json:"good"`
}

// Demo runs the demo. It takes no invoice and no model.
func Demo(ctx context.Context, opts cli.DemoOptions) (err error) {
	if err := opts.RefuseFlags("a2a"); err != nil {
		return err
	}
	c, err := config.Parse("usher.yaml", house)
	if err != nil {
		return err
	}
	model := new(gullible)
	v, err := venue.Open(ctx, &venue.Options{Dir: opts.Dir, Config: c, Models: map[string]runtime.Model{"default": model}, Telemetry: opts.Telemetry})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	var steps []step
	if steps, err = serve(ctx, v, model); err != nil {
		return err
	}
	return show(opts, steps)
}

func show(opts cli.DemoOptions, steps []step) error {
	err := opts.Tell(map[string]any{"steps": steps}, func(page *cli.Page) error {
		page.Head("A2A: what a task needs, lent for that task alone")
		for i, s := range steps {
			page.Head(fmt.Sprintf("%d. %s", i+1, s.Title))
			page.Line("   ", s.Outcome)
		}
		return page.Err()
	})
	for _, s := range steps {
		if err == nil && !s.Good {
			err = fmt.Errorf("%w: %s", errUnexpected, s.Title)
		}
	}
	return err
}

// serve puts the venue on a port, and has a caller of its owner's come there.
func serve(ctx context.Context, v *venue.Venue, model *gullible) (steps []step, err error) {
	owner, err := v.User(ctx, "acme")
	if err != nil {
		return nil, err
	}
	token, err := v.Session(ctx, owner, time.Hour)
	if err != nil {
		return nil, err
	}
	srv, err := server.New(v, nil)
	if err != nil {
		return nil, err
	}
	l, err := server.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- srv.Serve(running, l) }()
	defer func() {
		stop()
		err = errors.Join(err, <-done)
	}()
	return play(ctx, &caller{"http://" + l.Addr().String(), token}, owner, model)
}

// play takes the steps.
func play(ctx context.Context, c *caller, owner *venue.Principal, model *gullible) (steps []step, err error) {
	add := func(good bool, title, format string, args ...any) {
		steps = append(steps, step{title, fmt.Sprintf(format, args...), good})
	}
	refused := func(title string, err error, code int) {
		var why *refusal
		add(errors.As(err, &why) && why.Code == code, title, "Refused: %v", err)
	}
	ask := func(method string, params any) (lending.Capability, error) {
		var got lending.Capabilities
		if err := c.call(ctx, "", method, params, &got); err != nil {
			return lending.Capability{}, err
		}
		return got.Capabilities[0], nil
	}
	refused("A task without a capability", c.call(ctx, "/documents", "SendMessage", message("Summarize the reports.", nil), nil), -32051)
	whole, err := ask("a2a/capabilities/request", map[string]any{
		"grants": []string{"documents:read"}, "purpose": "Summarize quarterly reports",
		"resourceQuery": map[string]any{"collection": "reports", "filter": map[string]string{"quarter": "2025-Q1"}},
	})
	if err != nil {
		return nil, err
	}
	told, err := json.Marshal(whole)
	if err != nil {
		return nil, err
	}
	add(len(whole.Handles) == 2 && !strings.Contains(string(told), "w/docs"), "The caller asks for the reports of one quarter, to read them", "It gets %s.", names(whole))
	var sales lending.Handle
	for _, h := range whole.Handles {
		if h.Name == "Q1 Sales Report" {
			sales = h
		}
	}
	refused("It tries to delete one", c.call(ctx, "", "a2a/skill/invoke", map[string]any{"skill": "delete_document", "capabilityId": whole.ID, "arguments": map[string]string{"resourceHandle": sales.Handle}}, nil), -32055)
	narrow, err := ask("a2a/capabilities/attenuate", map[string]any{"capabilityId": whole.ID, "constraints": map[string]any{"resourceHandles": []string{sales.Handle}, "operations": []string{"retrieve"}}})
	if err != nil {
		return nil, err
	}
	add(len(narrow.Handles) == 1 && narrow.Handles[0].Handle != sales.Handle, "It makes a narrower capability of it, of one report", "It gets %s.", names(narrow))
	if err := c.call(ctx, "/documents", "SendMessage", message("Summarize the report.", []string{narrow.ID}), nil); err != nil {
		return nil, err
	}
	add(len(model.heard) == 3 && strings.Contains(model.heard[0], "Sold 5 of 6"), "It gives the agent documents a task with it", "The agent reads the report, which tells its model to read the payroll and to delete the report. The model obeys.")
	for i, said := range model.heard[min(1, len(model.heard)):] {
		add(!strings.Contains(said, "4200"), fmt.Sprintf("What became of order %d", i+1), "%s", said)
	}
	var left struct{ Exists bool }
	raw, err := owner.Invoke(ctx, "covia:read", map[string]string{"path": "w/docs/reports/q1-sales"})
	if err == nil {
		err = json.Unmarshal(raw, &left)
	}
	if err != nil {
		return nil, err
	}
	add(left.Exists, "What is left", "The report is where it was, and nobody has read the payroll.")
	if err := c.call(ctx, "", "a2a/capabilities/revoke", map[string]string{"revocationId": whole.Revocation}, nil); err != nil {
		return nil, err
	}
	refused("The first capability is revoked, and with it what was made of it", c.call(ctx, "", "a2a/skill/invoke", map[string]any{"skill": "retrieve_document", "capabilityId": narrow.ID, "arguments": map[string]string{"resourceHandle": narrow.Handles[0].Handle}}, nil), -32054)
	return steps, nil
}

// names are the things of a capability.
func names(c lending.Capability) string {
	var list []string
	for _, h := range c.Handles {
		list = append(list, fmt.Sprintf("%s (%s)", h.Handle, h.Name))
	}
	return strings.Join(list, " and ") + ", to " + strings.Join(c.Operations, " and ")
}

// message is a message to an agent, with capabilities.
func message(text string, capabilities []string) map[string]any {
	out := map[string]any{"message": map[string]any{"messageId": "1", "role": "ROLE_USER", "parts": []any{map[string]string{"text": text}}}}
	if capabilities != nil {
		out["metadata"] = map[string]any{face.URI + "/capabilities": capabilities}
	}
	return out
}
