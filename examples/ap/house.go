package ap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"usher/runtime"
	"usher/tools/agents"
	"usher/venue"
)

// house is the department at work.
type house struct {
	report
	v       *venue.Venue
	user    *venue.User
	at      string      // what it is at, for people
	worked  uint64      // rows of the ledger before the attempts; 0 where none were made
	plugged *guestModel // nil where the programs do the work
	notes   io.Writer   // what happens while a model takes its time
}

// run does the work, and looks afterwards whether what must hold whatever the
// models do has held: in what is stored and in the ledger, not in what anybody
// answered.
func (h *house) run(ctx context.Context, work func(context.Context) error) error {
	h.Unexpected = []string{}
	known, err := h.infos(ctx)
	if err != nil {
		return err
	}
	for i := range known {
		h.Agents[i].Caps = known[i].Caps
	}
	_, err = h.isUnchanged(ctx, "the policy, records, orders, operations or mandates changed", func() error {
		err := work(ctx)
		if err != nil && ctx.Err() != nil {
			return err
		}
		if failed := h.plugged.failure(); failed != nil {
			err = fmt.Errorf("%w: model %s: %w", errModel, h.Judgement.Model, failed)
		}
		if err != nil {
			h.Failure = &failure{At: h.at, Words: err.Error()}
		}
		return h.audit(ctx)
	}, "w/docs", "w/vendor-records", "w/purchase-orders", "o")
	return err
}

// isUnchanged does something that may change neither what lies at some paths nor
// the agents, and reports whether that is so, also where it failed.
func (h *house) isUnchanged(ctx context.Context, otherwise string, do func() error, paths ...string) (same bool, err error) {
	before, err := h.state(ctx, paths)
	if err != nil {
		return false, err
	}
	failed := do()
	after, err := h.state(ctx, paths)
	if same = err == nil && bytes.Equal(before, after); err == nil && !same {
		h.surprise("%s", otherwise)
	}
	if failed != nil {
		return same, failed
	}
	return same, err
}

// state is what lies at some paths, and the agents with what they hold.
func (h *house) state(ctx context.Context, paths []string) ([]byte, error) {
	var all []any
	for _, path := range paths {
		var data json.RawMessage
		if err := h.get(ctx, &data, "covia:read", object{"path": path}); err != nil {
			return nil, err
		}
		all = append(all, data)
	}
	known, err := h.infos(ctx)
	if err != nil {
		return nil, err
	}
	for _, info := range known {
		all = append(all, info.Config, info.Caps, info.Status == agents.Terminated)
	}
	return json.Marshal(all)
}

// result is what the pipeline makes of an invoice.
type result struct {
	File       string     `json:"file,omitempty"`    // of the demo's own
	Problem    string     `json:"problem,omitempty"` // why there is nothing else
	Extraction invoice    `json:"extraction"`
	Enrichment enrichment `json:"enrichment"`
	Decision   decision   `json:"decision"`
}

// process runs the pipeline on a text.
func (h *house) process(ctx context.Context, text string) (*result, error) {
	var job struct{ ID string }
	err := h.get(ctx, &job, "grid:invoke", object{"operation": "o/ap-pipeline", "input": object{"text": text}})
	if err != nil {
		return nil, err
	}
	var p result
	err = h.get(ctx, &p, "grid:jobResult", object{"id": job.ID})
	ended, failed := errors.AsType[*venue.JobError](err)
	if !failed {
		return &p, err
	}
	// The pipeline ends where the scanner finds no invoice in the text.
	var answer struct{ Output scanResult }
	if job, err := h.user.Run(ctx, job.ID); err == nil && len(job.Steps) > 0 && json.Unmarshal(job.Steps[0].Output, &answer) == nil && answer.Output.Refusal != "" {
		return nil, errors.New(answer.Output.Refusal)
	}
	return nil, errors.New(ended.Reason) // the job is gone with the demo, and its id says nothing
}

// isStored reports whether a decision is on record as it was answered: a model
// may say so and not have done it.
func (h *house) isStored(ctx context.Context, p *result) bool {
	var kept struct{ Value decision }
	return p.Problem == "" && p.Decision.Recorded &&
		h.get(ctx, &kept, "covia:read", object{"path": "w/decisions/" + p.Enrichment.RecordID}) == nil &&
		kept.Value.outcome() == p.Decision.outcome()
}

// get runs an operation for the user and decodes its result.
func (h *house) get(ctx context.Context, into any, operation string, input any) error {
	raw, err := h.user.Invoke(ctx, operation, input)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// infos is what there is to know of the agents, in their order.
func (h *house) infos(ctx context.Context) ([]agents.Info, error) {
	all := make([]agents.Info, len(h.Agents))
	for i, m := range h.Agents {
		if err := h.get(ctx, &all[i], "agent:info", object{"agentId": m.Agent}); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// say talks to an agent, and returns its answer and the calls that it made.
func (h *house) say(ctx context.Context, agent, text string) (answer string, calls []runtime.ToolEnd, err error) {
	a, err := h.user.Agent(ctx, agent)
	if err != nil {
		return "", nil, err
	}
	for ev, err := range a.ChatIn(ctx, "", text) {
		if err != nil {
			return "", calls, fmt.Errorf("talk to %s: %w", agent, err)
		}
		switch ev := ev.(type) {
		case runtime.ToolEnd:
			calls = append(calls, ev)
		case runtime.TurnEnd:
			answer = ev.Text
		}
	}
	return answer, calls, nil
}
