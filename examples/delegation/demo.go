// Package delegation is the demo of authority that crosses namespaces: two
// users, three agents that act as themselves, and signed delegations between
// them. Alice lets her broker into a folder, the broker lets a carrier of Bob's
// into one shipment of it, the carrier lets an auditor read its status. They
// work, they try more than they hold, and a link in the middle of the chain is
// revoked while the auditor reads.
//
// [Demo] runs it. The story is data; what must come of each step stands beside it
// and is checked, in the words of the gate and in the ledger.
// The agents' models follow plain instructions, so nothing here needs a key or a
// network.
package delegation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"

	"usher/runtime"
	"usher/runtime/offline"
	"usher/venue"
	"usher/venue/cli"
)

// errUnexpected: something in the demo came out otherwise than it must.
var errUnexpected = errors.New("the demo did not come out as it must")

// Demo tells the story, prints what came of it, and returns an error where that is
// not what the delegations demand. It takes no invoice and no model.
func Demo(ctx context.Context, opts cli.DemoOptions) error {
	if err := opts.RefuseFlags("delegation"); err != nil {
		return err
	}
	return demo(ctx, tell(), opts)
}

func demo(ctx context.Context, st story, opts cli.DemoOptions) (err error) {
	s := &stage{story: st, model: &model{Model: offline.Model{}}, dir: opts.Dir, report: report{Unexpected: []string{}}}
	s.v, err = venue.Open(ctx, &venue.Options{Dir: opts.Dir, Models: map[string]runtime.Model{"default": s.model}, Telemetry: opts.Telemetry})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.v.Close()) }()
	if err = s.play(ctx); err == nil {
		err = opts.Tell(s.report, s.print)
	}
	if err == nil && len(s.Unexpected) > 0 {
		err = fmt.Errorf("%w: %s", errUnexpected, s.Unexpected[0])
	}
	return err
}

// model follows instructions, and lets something happen between two calls of one
// turn: once, before it asks for the next call.
type model struct {
	runtime.Model
	between atomic.Pointer[func() error]
}

func (m *model) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	if last := req.Messages[len(req.Messages)-1]; last.Role == runtime.RoleTool {
		if happen := m.between.Swap(nil); happen != nil {
			if err := (*happen)(); err != nil {
				return func(yield func(runtime.Chunk, error) bool) { yield(runtime.Chunk{}, err) }
			}
		}
	}
	return m.Model.Generate(ctx, req)
}

// turn has the agent of the first step take its steps in one turn; one of another's
// happens after the first. It notes and checks what comes of each.
func (s *stage) turn(ctx context.Context, steps []step) error {
	agent, say := steps[0].Agent, ""
	var own []*step
	for i := range steps {
		if steps[i].Agent == agent {
			own, say = append(own, &steps[i]), say+s.spelt(steps[i].say)+"\n"
			continue
		}
		between := func() error { return s.turn(ctx, steps[i:i+1]) }
		s.model.between.Store(&between)
	}
	newest, err := s.v.Ledger().Newest(ctx)
	if err != nil {
		return err
	}
	from, done := newest.Seq, 0
	for ev, err := range s.agents[agent].ChatIn(ctx, "", say) {
		if err != nil {
			return fmt.Errorf("%s %s: %w", agent, own[0].Does, err)
		}
		if ev, ok := ev.(runtime.ToolEnd); ok && done < len(own) {
			if from, err = s.note(ctx, own[done], ev, from); err != nil {
				return err
			}
			s.check(own[done])
			done++
		}
	}
	if done != len(own) {
		return fmt.Errorf("%w: %s makes %d calls, was told %d", errUnexpected, agent, done, len(own))
	}
	return nil
}

// note notes what came of a step: as its agent heard it, and as the ledger has it,
// whose row it returns.
func (s *stage) note(ctx context.Context, st *step, ev runtime.ToolEnd, from uint64) (uint64, error) {
	switch ev.Outcome {
	case runtime.ToolOK:
		st.Outcome, st.Result = allowed, json.RawMessage(ev.Result)
	case runtime.ToolDenied:
		st.Outcome = denied
	default:
		st.Outcome = refused
	}
	if st.Outcome != allowed {
		var failure struct{ Message string }
		if st.Words = ev.Result; json.Unmarshal([]byte(ev.Result), &failure) == nil {
			st.Words = failure.Message
		}
	}
	for row, err := range s.v.Audit(ctx, from+1) {
		if err != nil {
			return 0, err
		}
		if row.Entry != nil && row.Actor == st.Agent && row.Operation == ev.Operation {
			st.Row, st.Needs, st.Reason = row.Seq, row.Needs, row.Reason
			return row.Seq, nil
		}
	}
	return 0, fmt.Errorf("%w: the ledger has no row of %s: %s", errUnexpected, st.Agent, st.Does)
}

// check compares a step with what the story wants. What is allowed in the namespace
// of another rests on the story's own tokens, and on nothing else. Whoever is
// denied is told that nothing is delegated, and no more, whatever the reason.
func (s *stage) check(st *step) {
	if st.Outcome != st.want {
		s.surprise("%s %s: %s, want %s %s", st.Agent, st.Does, st.Outcome, st.want, st.Words)
	}
	for _, n := range st.Needs {
		if st.Outcome != allowed || !strings.HasPrefix(n.Resource, "did:") {
			continue
		}
		if len(n.Proofs) == 0 || slices.ContainsFunc(n.Proofs, func(cid string) bool { return !slices.Contains(s.cids, cid) }) {
			s.surprise("row %d: %s on %s rests on %s, want tokens of this story", st.Row, n.Ability, n.Resource, n.Proofs)
		}
	}
	where := st.Words
	if st.want == denied {
		where = st.Reason
		if !strings.HasSuffix(st.Words, "who has delegated nothing for this call.") {
			s.surprise("%s %s: the denial says more or less than it should: %s", st.Agent, st.Does, st.Words)
		}
	}
	if st.why != nil && !strings.Contains(where, st.why.Error()) {
		s.surprise("%s %s: the reason is %q, want %q in it", st.Agent, st.Does, where, st.why)
	}
}
