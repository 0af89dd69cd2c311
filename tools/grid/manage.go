package grid

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"usher/caps"
	"usher/tools"
)

// Manager looks after the jobs of call's owner: all runs, also turns and tasks, of
// whichever agent. An unknown job is an error, as is a change of one that has ended.
type Manager interface {
	// List returns a page of jobs, the latest first.
	List(ctx context.Context, call tools.Call, q Query) (Listing, error)
	// Cancel ends a job and returns it as it ended.
	Cancel(ctx context.Context, call tools.Call, id string) (Status, error)
	// Pause has a job rest as soon as it can. It waits for that at most so long, and
	// returns the job as it is then.
	Pause(ctx context.Context, call tools.Call, id string, wait time.Duration) (Status, error)
	// Resume has a paused job go on, and returns it as it is then.
	Resume(ctx context.Context, call tools.Call, id string) (Status, error)
	// Outcome notes what the owner in person says of a call of a job whose effect is
	// unknown, once.
	Outcome(ctx context.Context, call tools.Call, in Outcome) (OutcomeResult, error)
}

// Outcome is what a person says of a call whose effect is unknown.
type Outcome struct {
	ID      string          `json:"id" jsonschema:"the job's id"`
	Call    string          `json:"call,omitempty" jsonschema:"id of the call in a turn; left out of a job that is one call"`
	Outcome string          `json:"outcome" jsonschema:"happened: the call took effect; failed: nothing of it happened"`
	Note    string          `json:"note,omitempty" jsonschema:"what the agent is told of it"`
	Venue   json.RawMessage `json:"venue,omitempty" jsonschema:"leave out: jobs are those of this venue"`
}

func (in Outcome) needs() []caps.Request {
	if in.Outcome != "happened" && in.Outcome != "failed" {
		return []caps.Request{caps.Invalid(fmt.Errorf("outcome is %.40q: give happened or failed", in.Outcome))}
	}
	return statusInput{in.ID, in.Venue}.need(manage)
}

// OutcomeResult answers [Outcome].
type OutcomeResult struct {
	ID      string `json:"id"`
	Call    string `json:"call"`
	Outcome string `json:"outcome"`
}

// maxPage is the most jobs that a page of grid:jobList has.
const maxPage = 1000

// Query asks for a page of jobs.
type Query struct {
	Limit  int             `json:"limit,omitempty" jsonschema:"the most jobs to return: 1 to 1000, left out 100"`
	Cursor string          `json:"cursor,omitempty" jsonschema:"where to go on: the cursor that the page before returned"`
	Venue  json.RawMessage `json:"venue,omitempty" jsonschema:"leave out: jobs are those of this venue"`
}

func (q Query) needs() []caps.Request {
	var err error
	if q.Limit < 0 || q.Limit > maxPage {
		err = fmt.Errorf("limit is %d: give 1 to %d, or leave it out", q.Limit, maxPage)
	}
	if q.Cursor != "" {
		if _, bad := caps.ParseSegments([]string{"j", q.Cursor}); bad != nil {
			err = fmt.Errorf("cursor: %w", bad)
		}
	}
	return unless(err, q.Venue, caps.Need("crud/read", "j"))
}

// Listing is a page of jobs.
type Listing struct {
	Jobs   []Job  `json:"jobs"`
	Cursor string `json:"cursor,omitempty"` // of the next page; empty when nothing follows
}

// Job is a job in a [Listing].
type Job struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"` // turn, task, job or orchestration
	Op      string `json:"op,omitempty"`
	Status  string `json:"status"`
	Created int64  `json:"created"` // milliseconds since 1970
	Updated int64  `json:"updated"` // milliseconds since 1970
}

// usualWait is how long a pause is waited for that says nothing of it, in milliseconds.
const usualWait = 5000

type pauseInput struct {
	ID    string          `json:"id" jsonschema:"the job's id"`
	Wait  *int64          `json:"wait,omitempty" jsonschema:"how long to wait until it rests, in milliseconds; 0 is not at all, left out 5000"`
	Venue json.RawMessage `json:"venue,omitempty" jsonschema:"leave out: jobs are those of this venue"`
}

func (in pauseInput) wait() time.Duration {
	if in.Wait == nil {
		return usualWait * time.Millisecond
	}
	return time.Duration(*in.Wait) * time.Millisecond
}

func (in pauseInput) needs() []caps.Request {
	if w := in.Wait; w != nil && (*w < 0 || *w > maxTimeout) {
		return []caps.Request{caps.Invalid(fmt.Errorf("wait is %d: give milliseconds from 0 to %d", *w, maxTimeout))}
	}
	return statusInput{in.ID, in.Venue}.need(manage)
}

// manage is the ability of changing what is done: it is asked for on j/<id>. No ability
// on data has it, so that who may read and write everything stops nobody's work.
const manage = "job/manage"

// manageOps returns grid:jobList, jobCancel, jobPause, jobResume and jobOutcome.
func manageOps(jobs Manager) []*tools.Operation {
	job := tools.Within(caps.ScopeUnder(manage, "j", 1, 1))
	change := func(f func(context.Context, tools.Call, string) (Status, error)) func(context.Context, tools.Call, statusInput) (Status, error) {
		return func(ctx context.Context, call tools.Call, in statusInput) (Status, error) { return f(ctx, call, in.ID) }
	}
	needs := func(in statusInput) []caps.Request { return in.need(manage) }
	return []*tools.Operation{
		tools.New("grid:jobList", "List the jobs, turns and tasks, the latest first, a page at a time: where a cursor is returned, there are more.",
			Query.needs, jobs.List, tools.Within(caps.ScopeExactly("crud/read", "j")), tools.ReadOnly()),
		tools.New("grid:jobCancel", "Cancel a job that has not ended: it stops, and what it waits for that it began.",
			needs, change(jobs.Cancel), job, tools.Idempotent(), tools.Exclusive()),
		tools.New("grid:jobPause", "Pause a job: a turn before it asks its model again, an orchestration before its next step. It rests until it is resumed.",
			pauseInput.needs, func(ctx context.Context, call tools.Call, in pauseInput) (Status, error) {
				return jobs.Pause(ctx, call, in.ID, in.wait())
			}, job, tools.Idempotent(), tools.Exclusive()),
		tools.New("grid:jobResume", "Resume a paused job: it goes on where it was.",
			needs, change(jobs.Resume), job, tools.Idempotent(), tools.Exclusive()),
		tools.New("grid:jobOutcome", "Say what came of a call whose effect is unknown. Only the owner in person can, once.",
			Outcome.needs, jobs.Outcome, job, tools.Exclusive()),
	}
}
