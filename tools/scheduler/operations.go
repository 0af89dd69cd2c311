package scheduler

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"usher/caps"
	"usher/tools"
)

// Abilities on schedules/<name>.
const (
	canCreate  = "schedule/create"
	canRead    = "schedule/read"
	canCancel  = "schedule/cancel"
	canTrigger = "schedule/trigger"
)

// root is the place of all schedules: who may do something on it may on each.
const root = "schedules"

// Operations returns the operations over s.
//
// Scheduling needs schedule/create on schedules/<name>, or on schedules where no name
// is given, and what the operation inside needs is asked of it at once, and again each
// time when it fires.
func Operations(s Service) []*tools.Operation {
	within := func(can string, least int) tools.Option { return tools.Within(caps.ScopeUnder(can, root, least, 1)) }
	return []*tools.Operation{
		tools.New("scheduler:schedule", "Have an operation run later: at a time, after some time, or again and again. It may do then what you may do then.",
			Schedule.needs, s.Schedule, within(canCreate, 0), tools.WithoutDigest(), tools.WithStarts(inside)),
		tools.New("scheduler:list", "List the schedules, a page at a time: what each does, when it fires next, and what came of it last.",
			Query.needs, s.List, within(canRead, 0), tools.ReadOnly()),
		tools.New("scheduler:cancel", "Cancel a schedule: it fires no more.",
			refNeeds(canCancel), s.Cancel, within(canCancel, 1)),
		tools.New("scheduler:trigger", "Fire a schedule now, beside its times.",
			refNeeds(canTrigger), s.Trigger, within(canTrigger, 1)),
	}
}

func (s Schedule) needs() []caps.Request {
	err := s.Check()
	if strings.TrimSpace(s.Operation) == "" {
		err = errors.New("operation is missing: name the operation to run, for example covia:write")
	}
	if err == nil {
		_, err = tools.Object(s.Input)
	}
	if err != nil {
		return []caps.Request{caps.Invalid(err)}
	}
	needs := []caps.Request{on(canCreate, s.Name)}
	if s.Overwrite {
		needs = append(needs, on(canCancel, s.Name))
	}
	return needs
}

func (q Query) needs() []caps.Request {
	if q.Limit < 0 || q.Limit > MaxPage {
		return []caps.Request{caps.Invalid(fmt.Errorf("limit is %d: give 1 to %d", q.Limit, MaxPage))}
	}
	if q.Done && q.Handle != "" {
		return []caps.Request{caps.Invalid(errors.New("done lists all that have fired for the last time: leave handle out"))}
	}
	return []caps.Request{on(canRead, q.Handle)}
}

func refNeeds(can string) func(Ref) []caps.Request {
	return func(in Ref) []caps.Request {
		if in.Handle == "" {
			return []caps.Request{caps.Invalid(errors.New("handle is missing: name the schedule, as scheduler:list does"))}
		}
		return []caps.Request{on(can, in.Handle)}
	}
}

// on is the requirement of an ability on the schedule of the name, or on all.
func on(can, name string) caps.Request {
	if name == "" {
		return caps.Need(can, root)
	}
	if err := CheckName(name); err != nil {
		return caps.Invalid(err)
	}
	return caps.Need(can, root+"/"+name)
}

// inside is the call that a schedule makes.
func inside(input json.RawMessage) []tools.Invocation {
	var in Schedule
	if json.Unmarshal(input, &in) != nil {
		return nil
	}
	object, err := tools.Object(in.Input)
	if err != nil {
		return nil
	}
	return []tools.Invocation{{Operation: in.Operation, Input: object}}
}
