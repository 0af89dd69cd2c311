package schedules

import (
	"cmp"
	"context"
	"strings"

	"usher/caps"
	"usher/tools"
	"usher/tools/scheduler"
	"usher/venue/store"
)

// usualPage is how many schedules a page has that nobody bounds.
const usualPage = 100

// List returns a page of the owner's schedules, or the one that the query names.
func (r *Room) List(ctx context.Context, call tools.Call, q scheduler.Query) (scheduler.Listing, error) {
	out := scheduler.Listing{Events: []scheduler.Event{}}
	if q.Handle != "" {
		rec, err := r.find(ctx, call, q.Handle)
		if err == nil {
			out.Events = append(out.Events, r.event(ctx, call, rec))
		}
		return out, err
	}
	all, page := recKey(call.Owner(), ""), r.Store.Page
	if q.Done {
		all, page = prefix+"done/"+call.Owner().String()+"/", r.Store.PageBack
	}
	from := ""
	if q.Cursor != "" {
		from = all + q.Cursor
	}
	var rows []store.Row
	rows, next, err := page(ctx, all, from, cmp.Or(q.Limit, usualPage))
	if err != nil {
		return out, err
	}
	out.Cursor = strings.TrimPrefix(next, all)
	for _, row := range rows {
		rec, err := decode(row.Value, call.Owner(), row.Rev)
		if err != nil {
			return out, err
		}
		out.Events = append(out.Events, r.event(ctx, call, rec))
	}
	return out, nil
}

// event is a schedule as the caller may know it.
func (r *Room) event(ctx context.Context, call tools.Call, rec *record) scheduler.Event {
	e := scheduler.Event{
		Handle: rec.ID, Op: rec.Op, Input: rec.Input, Time: rec.Next, Cron: rec.Cron, Zone: rec.Zone, Note: rec.Note,
		Agent: rec.Agent, Via: rec.Via, Created: rec.Created, Missed: rec.Missed, Since: rec.Since, Last: rec.Last, Error: rec.Error,
	}
	if rec.Cron != "" {
		e.Policy = cmp.Or(rec.Policy, scheduler.MissedFire)
	}
	if rec.Last == nil {
		return e
	}
	job, err := r.Runs.Find(ctx, rec.owner, rec.Last.Job)
	if err != nil { // it was removed since, or the store cannot say
		return e
	}
	e.Last.Status = job.Status
	if call.Caps().Check(caps.Need("crud/read", "j/"+job.ID)).IsAllowed() {
		e.Last.Error = job.Error
	}
	return e
}
