// Package scheduler has the operations that run others later: scheduler:schedule,
// list, cancel and trigger. [Operations] returns them over a [Service], which the
// venue has; [ParseCron] reads a [Timetable].
//
// A schedule is a resource of its own, schedules/<name>: a capability can be for one
// of them. What it does goes through the gate when it fires, with the authority that
// whoever made it had, as that is by then.
package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"usher/tools"
	"usher/tools/fault"
)

// Service is what the operations do in a venue. Every method acts on the schedules
// of call.Owner() alone.
type Service interface {
	Schedule(ctx context.Context, call tools.Call, in Schedule) (ScheduleResult, error)
	// List returns one page of the schedules in the order of their handles, or one.
	List(ctx context.Context, call tools.Call, in Query) (Listing, error)
	Cancel(ctx context.Context, call tools.Call, in Ref) (CancelResult, error)
	// Trigger fires a schedule now, beside its times, within what the caller may do too.
	Trigger(ctx context.Context, call tools.Call, in Ref) (TriggerResult, error)
}

// Schedule is what a caller of scheduler:schedule asks for.
type Schedule struct {
	Operation string          `json:"operation" jsonschema:"the operation to run, for example covia:write"`
	Input     json.RawMessage `json:"input,omitempty" jsonschema:"the input of that operation, an object"`
	Name      string          `json:"name,omitempty" jsonschema:"name of the schedule, which is its handle; left out, one is made"`
	At        json.RawMessage `json:"at,omitempty" jsonschema:"when: a time such as 2026-12-24T18:00:00+01:00, or milliseconds since 1970; give one of at, after and cron"`
	After     json.RawMessage `json:"after,omitempty" jsonschema:"how long from now: milliseconds, or a text such as 90m"`
	Cron      string          `json:"cron,omitempty" jsonschema:"again and again: minute, hour, day of the month, month and day of the week, for example 0 9 * * 1-5"`
	Zone      string          `json:"zone,omitempty" jsonschema:"IANA time zone of cron, for example Europe/Berlin; left out, UTC"`
	Missed    string          `json:"missed,omitempty" jsonschema:"what becomes of times of cron that passed while the venue was down: fire (once for all of them, which is the default) or skip"`
	Note      string          `json:"note,omitempty" jsonschema:"what the schedule is for, as lists tell"`
	Agent     string          `json:"agent,omitempty" jsonschema:"the agent that makes the call; left out, whoever schedules. Only the owner in person may name one"`
	Overwrite bool            `json:"overwrite,omitempty" jsonschema:"replace a schedule of that name"`
}

// What becomes of times of cron that passed while the venue was down.
const (
	MissedFire = "fire" // it fires once for all of them
	MissedSkip = "skip" // they are counted, and that is all
)

// ScheduleResult is a schedule that was made.
type ScheduleResult struct {
	Handle string `json:"handle"`
	Time   int64  `json:"time"` // ms: when it fires first
}

// Ref names a schedule.
type Ref struct {
	Handle string `json:"handle" jsonschema:"the schedule's handle"`
}

// CancelResult is a schedule that fires no more.
type CancelResult struct {
	Handle    string `json:"handle"`
	Cancelled bool   `json:"cancelled"`
}

// TriggerResult is a schedule that was fired.
type TriggerResult struct {
	Handle    string `json:"handle"`
	Triggered bool   `json:"triggered"`
	Job       string `json:"job"` // id of the run that it started
}

// Query says which schedules to list.
type Query struct {
	Handle string `json:"handle,omitempty" jsonschema:"the one to list; left out, all"`
	Done   bool   `json:"done,omitempty" jsonschema:"those that have fired for the last time, the latest first"`
	Cursor string `json:"cursor,omitempty" jsonschema:"where the page begins, as the page before said"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many to list at most; left out, 100"`
}

// MaxPage is the most that one page has.
const MaxPage = 1000

// Listing is a page of schedules.
type Listing struct {
	Events []Event `json:"events"`
	Cursor string  `json:"cursor,omitempty"` // of the next page; empty when nothing follows
}

// Event is a schedule as it is now. Times are milliseconds since 1970.
type Event struct {
	Handle  string          `json:"handle"`
	Op      string          `json:"op"`
	Input   json.RawMessage `json:"input,omitempty"`
	Time    int64           `json:"time,omitempty"` // when it fires next; 0: never
	Cron    string          `json:"cron,omitempty"`
	Zone    string          `json:"zone,omitempty"`
	Policy  string          `json:"missedPolicy,omitempty"` // of cron: fire or skip
	Note    string          `json:"note,omitempty"`
	Agent   string          `json:"agent,omitempty"` // that makes the call; empty is the owner
	Via     []string        `json:"via,omitempty"`   // agents on whose behalf, the first caller first
	Created int64           `json:"created"`
	Missed  int             `json:"missed,omitempty"` // times that passed without a firing of their own, when it was late last
	Since   int64           `json:"since,omitempty"`  // the first of those
	Last    *Firing         `json:"last,omitempty"`
	Error   string          `json:"error,omitempty"` // why it never fires again
}

// Firing is what came of a schedule the last time.
type Firing struct {
	Job    string `json:"job"`
	Due    int64  `json:"due,omitempty"` // 0: somebody triggered it
	Fired  int64  `json:"fired"`
	Status string `json:"status,omitempty"` // of the job; empty where it is kept no more
	Error  string `json:"error,omitempty"`  // of the job, for whoever may read that
}

// PastError says that the time of a schedule has passed.
type PastError struct{ At time.Time }

func (e *PastError) Error() string {
	return fmt.Sprintf("at %s has passed: give a time to come", e.At.Format(time.RFC3339))
}

// Code is [fault.InvalidInput].
func (e *PastError) Code() fault.Code { return fault.InvalidInput }

var errTimes = errors.New("a schedule has exactly one of at, after and cron: at fires at a time, after so long from now, cron again and again")
