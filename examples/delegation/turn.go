package delegation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"usher/runtime"
)

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
		if ev, ok := ev.(runtime.ToolFinished); ok && done < len(own) {
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
func (s *stage) note(ctx context.Context, st *step, ev runtime.ToolFinished, from uint64) (uint64, error) {
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
		s.unexpected("%s %s: %s, want %s %s", st.Agent, st.Does, st.Outcome, st.want, st.Words)
	}
	for _, n := range st.Needs {
		if st.Outcome != allowed || !strings.HasPrefix(n.Resource, "did:") {
			continue
		}
		if len(n.Proofs) == 0 || slices.ContainsFunc(n.Proofs, func(cid string) bool { return !slices.Contains(s.cids, cid) }) {
			s.unexpected("row %d: %s on %s rests on %s, want tokens of this story", st.Row, n.Ability, n.Resource, n.Proofs)
		}
	}
	where := st.Words
	if st.want == denied {
		where = st.Reason
		if !strings.HasSuffix(st.Words, "who has delegated nothing for this call.") {
			s.unexpected("%s %s: the denial says more or less than it should: %s", st.Agent, st.Does, st.Words)
		}
	}
	if st.why != nil && !strings.Contains(where, st.why.Error()) {
		s.unexpected("%s %s: the reason is %q, want %q in it", st.Agent, st.Does, where, st.why)
	}
}
