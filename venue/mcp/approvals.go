package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"usher/caps/value"
	"usher/tools/approvals"
	"usher/tools/dialog"
	"usher/venue/face"
)

// maxShown is how much of an input a form shows, in bytes.
const maxShown = 2000

// fills reports whether the client of a message has a person fill forms.
func (c *caller) fills() bool { return slices.Contains(c.kinds(), dialog.Elicitation) }

// requests are the requests for approvals that a job waits for.
func (d *desk) requests(ctx context.Context, c *caller, job string) ([]approvals.Request, error) {
	return face.OpenRequests(ctx, c.Principal, job)
}

var approvalForm = json.RawMessage(`{"type":"object","required":["confirm"],"properties":{` +
	`"confirm":{"type":"boolean","title":"Allow this call, once"},"reason":{"type":"string","title":"What to tell"}}}`)

// questionsOf are requests as questions, by their ids.
func questionsOf(list []approvals.Request) *dialog.Needs {
	needs := &dialog.Needs{Questions: make(map[string]dialog.Question, len(list))}
	for _, req := range list {
		by := cmp.Or(req.Agent, "A program")
		params, err := json.Marshal(map[string]any{
			"message": fmt.Sprintf("%s asks to call %s (%s): %s. Its input: %s",
				by, req.Operation, strings.Join(req.Needs, ", "), req.Why, value.Cut(string(req.Input), maxShown)),
			"requestedSchema": approvalForm,
		})
		if err == nil { // texts alone
			needs.Questions[req.ID] = dialog.Question{Kind: dialog.Elicitation, Params: params}
		}
	}
	return needs
}

// forms are requests as a result lists them.
func forms(list []approvals.Request) map[string]any { return questions(questionsOf(list)) }

// formAnswer is what a person made of a form.
type formAnswer struct {
	Action  string `json:"action"`
	Content struct {
		Confirm bool   `json:"confirm"`
		Reason  string `json:"reason"`
	} `json:"content"`
}

// settle answers requests as a person did. Of what was left open nothing is said.
func (d *desk) settle(ctx context.Context, c *caller, waiting []approvals.Request, said map[string]json.RawMessage) error {
	for _, req := range waiting {
		raw, ok := said[req.ID]
		if !ok {
			continue
		}
		var form formAnswer
		if err := json.Unmarshal(raw, &form); err != nil {
			return fmt.Errorf("the answer to %s is no filled form: %w", req.ID, err)
		}
		var err error
		switch {
		case form.Action == "accept" && form.Content.Confirm:
			_, err = c.person.Invoke(ctx, "approval:approve", approvals.Yes{ID: req.ID, Digest: req.Digest, Reason: form.Content.Reason})
		case form.Action == "accept", form.Action == "decline":
			_, err = c.person.Invoke(ctx, "approval:deny", approvals.No{ID: req.ID, Reason: form.Content.Reason})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isLeft reports whether a person left a form without an answer.
func isLeft(said map[string]json.RawMessage) bool {
	for _, raw := range said {
		var form formAnswer
		if json.Unmarshal(raw, &form) != nil || form.Action != "accept" && form.Action != "decline" {
			return true
		}
	}
	return false
}
