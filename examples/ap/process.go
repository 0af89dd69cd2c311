package ap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"usher/examples/ap/invoice"
	"usher/runtime"
	"usher/venue"
)

// processed is what the pipeline makes of an invoice.
type processed struct {
	File       string          `json:"file,omitempty"`    // of the demo's own
	Problem    string          `json:"problem,omitempty"` // why there is nothing else
	Extraction invoice.Invoice `json:"extraction"`
	Enrichment enrichment      `json:"enrichment"`
	Decision   decision        `json:"decision"`
}

func (p *processed) outcome() string {
	if p.Problem != "" {
		return "NO DECISION"
	}
	return outcomeOf(p.Decision)
}

// process runs the pipeline on a text.
func (h *house) process(ctx context.Context, text string) (*processed, error) {
	var job struct{ ID string }
	err := h.get(ctx, &job, "grid:invoke", object{"operation": "o/ap-pipeline", "input": object{"text": text}})
	if err != nil {
		return nil, err
	}
	var p processed
	if err := h.get(ctx, &p, "grid:jobResult", object{"id": job.ID}); err != nil {
		if why := h.refusal(ctx, job.ID); why != "" {
			return nil, errors.New(why)
		}
		if ended, ok := errors.AsType[*venue.JobError](err); ok {
			return nil, errors.New(ended.Reason) // the job is gone with the demo, and its id says nothing
		}
		return nil, err
	}
	return &p, nil
}

// refusal is what the scanner said when it found no invoice in the text: then
// the pipeline ends, since there is nothing to go on with.
func (h *house) refusal(ctx context.Context, id string) string {
	job, err := h.user.Run(ctx, id)
	if err != nil || len(job.Steps) == 0 {
		return ""
	}
	var answer struct{ Output scanned }
	if json.Unmarshal(job.Steps[0].Output, &answer) != nil {
		return ""
	}
	return answer.Output.Refusal
}

// get runs an operation for the user and decodes its result.
func (h *house) get(ctx context.Context, into any, operation string, input any) error {
	raw, err := h.user.Invoke(ctx, operation, input)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("read the result of %s: %w", operation, err)
	}
	return nil
}

// say talks to an agent and returns its answer.
func (h *house) say(ctx context.Context, agent, text string) (string, error) {
	a, err := h.user.Agent(ctx, agent)
	if err != nil {
		return "", err
	}
	var answer string
	for ev, err := range a.ChatIn(ctx, "", text) {
		if err != nil {
			return "", fmt.Errorf("talk to %s: %w", agent, err)
		}
		if done, ok := ev.(runtime.TurnFinished); ok {
			answer = done.Text
		}
	}
	return answer, nil
}
