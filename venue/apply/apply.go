// Package apply brings a venue to what its configuration says. Call [Config]
// with somebody who acts for the configuration's user: everything is written
// through the gate, as that user.
//
// An entry is written where it has changed since it was last applied, so that
// what was changed while the venue ran stays. Notes of what was applied are kept
// in a space of the store.
package apply

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"usher/tools/agents"
	"usher/tools/fault"
	"usher/ucan"
	"usher/venue/config"
	"usher/venue/store"
)

// invoker runs operations as one user.
type invoker interface {
	DID() ucan.DID
	Invoke(ctx context.Context, operation string, input any) (json.RawMessage, error)
}

// Outcome is what the configuration says and the venue does not, or the other
// way round.
type Outcome struct {
	Kept           []Leftover // data that was not written, since others have changed or deleted what was there
	Agents         []string   // ids of agents that an earlier configuration made: still there, with all that they may do
	Orchestrations []string   // paths of orchestrations that an earlier configuration wrote: they can still be run
	Schedules      []string   // names of schedules that an earlier configuration made: they still fire
	Passed         []string   // names of schedules that were not made, since their time had passed
}

// Config applies c as the user, with its notes in the space. Where an entry is refused, all
// others are applied, so that it keeps nothing that c takes away, and the error names each.
func Config(ctx context.Context, c *config.Config, user invoker, notes *store.Space) (Outcome, error) {
	r := &room{user: user, notes: notes, prefix: user.DID().String() + "/"}
	for _, d := range c.Data {
		r.entry("data "+d.Path, func() error { return r.datum(ctx, d) })
	}
	for _, o := range c.Orchestrations {
		r.entry("orchestration "+o.ID, func() error {
			return r.once(ctx, noteOrchestration+o.ID, o.Document, "covia:write", map[string]any{"path": o.Path(), "value": o.Document})
		})
	}
	for _, spec := range parentsFirst(c.Agents) {
		r.entry("agent "+spec.ID, func() error {
			entry, err := json.Marshal(spec)
			if err != nil {
				return err
			}
			return r.once(ctx, noteAgent+spec.ID, entry, "agent:create", map[string]any{"agentId": spec.ID, "config": spec, "overwrite": true})
		})
	}
	for _, s := range c.Schedules {
		r.entry("schedule "+s.Name, func() error { return r.schedule(ctx, s) })
	}
	if !r.failed {
		r.refused = append(r.refused, r.strays(ctx, c))
	}
	return r.out, errors.Join(r.refused...)
}

// entry applies one entry. Where time is up, or nobody knows what became of it, no other follows.
func (r *room) entry(name string, apply func() error) {
	if r.failed {
		return
	}
	err := apply()
	if err == nil {
		return
	}
	r.refused = append(r.refused, fmt.Errorf("apply %s: %w", name, err))
	switch fault.Of(err) {
	case fault.Unknown, fault.Canceled, fault.Timeout:
		r.failed = true
	}
}

// Preview are the agents that [Config] would write, or find gone from c.
type Preview struct {
	Written []string // in the order of c
	Left    []string // that an earlier configuration made
}

// Agents finds what applying c as the user would do with agents, without doing it.
func Agents(ctx context.Context, c *config.Config, user ucan.DID, notes *store.Space) (out Preview, err error) {
	r := &room{notes: notes, prefix: user.String() + "/"}
	has := make(map[string]bool)
	for _, spec := range c.Agents {
		has[spec.ID] = true
		last, err := r.note(ctx, noteAgent+spec.ID)
		if err != nil {
			return out, err
		}
		if entry, err := json.Marshal(spec); err != nil {
			return out, err
		} else if !bytes.Equal(last, entry) {
			out.Written = append(out.Written, spec.ID)
		}
	}
	for key, err := range store.Keys(ctx, notes, r.prefix+noteAgent, "") {
		if err != nil {
			return out, err
		}
		if id := strings.TrimPrefix(key, r.prefix+noteAgent); !has[id] {
			out.Left = append(out.Left, id)
		}
	}
	return out, nil
}

// room applies one configuration.
type room struct {
	user   invoker
	notes  *store.Space
	prefix string // of the user's notes
	out    Outcome

	refused []error // by entry
	failed  bool    // nothing more can be applied
}

// Beginnings of the names of notes.
const (
	noteData          = "data/"
	noteOrchestration = "orchestration/"
	noteAgent         = "agent/"
	noteSchedule      = "schedule/"
)

// parentsFirst orders agents so that each comes after the one that bounds it,
// as far as that can be: in a circle none can.
func parentsFirst(list []agents.Spec) []agents.Spec {
	var out []agents.Spec
	left := make(map[string]*agents.Spec, len(list))
	for i := range list {
		left[list[i].ID] = &list[i]
	}
	var place func(id string)
	place = func(id string) {
		spec := left[id]
		if spec == nil {
			return
		}
		delete(left, id)
		place(spec.Parent)
		out = append(out, *spec)
	}
	for i := range list {
		place(list[i].ID)
	}
	return out
}

// once runs an operation when the entry of the configuration differs from the
// one that was applied last.
func (r *room) once(ctx context.Context, note string, entry []byte, operation string, input any) error {
	last, err := r.note(ctx, note)
	if err != nil || bytes.Equal(last, entry) {
		return err
	}
	if _, err := r.user.Invoke(ctx, operation, input); err != nil {
		return err
	}
	return r.remember(ctx, note, entry)
}

func (r *room) note(ctx context.Context, name string) ([]byte, error) {
	raw, _, err := r.notes.Get(ctx, r.prefix+name)
	return raw, err
}

func (r *room) remember(ctx context.Context, name string, entry []byte) error {
	_, err := r.notes.Apply(ctx, nil, map[string][]byte{r.prefix + name: entry}, nil)
	return err
}

// strays finds what an earlier configuration made and this one does not have: its
// agents, and the orchestrations that are still as it wrote them. One that others
// have written since is theirs.
func (r *room) strays(ctx context.Context, c *config.Config) error {
	has := make(map[string]bool)
	for _, spec := range c.Agents {
		has[noteAgent+spec.ID] = true
	}
	for _, o := range c.Orchestrations {
		has[noteOrchestration+o.ID] = true
	}
	for _, s := range c.Schedules {
		has[noteSchedule+s.Name] = true
	}
	for key, err := range store.Keys(ctx, r.notes, r.prefix, "") {
		note := strings.TrimPrefix(key, r.prefix)
		kind, id, _ := strings.Cut(note, "/")
		switch {
		case err != nil || has[note]:
		case kind+"/" == noteAgent:
			err = r.strayAgent(ctx, id)
		case kind+"/" == noteSchedule:
			err = r.straySchedule(ctx, id)
		case kind+"/" == noteOrchestration:
			err = r.strayOrchestration(ctx, id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *room) strayAgent(ctx context.Context, id string) error {
	var there agents.Info
	err := r.ask(ctx, "agent:info", map[string]string{"agentId": id}, &there)
	if fault.Of(err) == fault.NotFound {
		return nil
	}
	if err == nil && there.Status != agents.Terminated {
		r.out.Agents = append(r.out.Agents, id)
	}
	return err
}

func (r *room) strayOrchestration(ctx context.Context, id string) error {
	path := config.Orchestration{ID: id}.Path()
	last, err := r.note(ctx, noteOrchestration+id)
	if err != nil {
		return err
	}
	was, err := digest(last)
	if err != nil {
		return err
	}
	is, err := r.digestAt(ctx, path)
	if err == nil && is == was {
		r.out.Orchestrations = append(r.out.Orchestrations, path)
	}
	return err
}

// ask reads the answer of an operation.
func (r *room) ask(ctx context.Context, operation string, input, answer any) error {
	out, err := r.user.Invoke(ctx, operation, input)
	if err != nil {
		return err
	}
	return json.Unmarshal(out, answer)
}
