package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
	"usher/tools/approvals"
	"usher/tools/fault"
	"usher/venue"
	"usher/venue/runs"
	"usher/venue/visitors"
)

type approvalsCmd struct {
	List    approvalsListCmd    `cmd:"" reads:"" help:"List the calls that wait for you."`
	Show    approvalsShowCmd    `cmd:"" reads:"" help:"Show a call that waits, whole."`
	Approve approvalsApproveCmd `cmd:"" help:"Allow a call that waits, once: its run goes on."`
	Deny    approvalsDenyCmd    `cmd:"" help:"Refuse a call that waits: its run goes on without it."`
}

// ofOwner says whose requests are meant.
type ofOwner struct {
	Owner string `placeholder:"DID" help:"The person who is asked, for whom you answer by delegation. Default: you."`
}

func (o *ofOwner) of() approvals.Of { return approvals.Of{Owner: o.Owner} }

type approvalsListCmd struct {
	onVenue
	ofOwner
	All bool `help:"List those too that are answered or have expired."`
}

func (c *approvalsListCmd) Run(ctx context.Context, s *streams) error {
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		list, err := every(func(cursor string) ([]approvals.Request, string, error) {
			page, err := ask[approvals.Listing](ctx, u, "approval:list", approvals.Query{Of: c.of(), All: c.All, Limit: approvals.MaxPage, Cursor: cursor})
			return page.Requests, page.Cursor, err
		})
		if err != nil {
			return err
		}
		header := []string{"REQUEST", "STATUS", "BY", "WHAT", "SINCE"}
		return printList(s, c.JSON, list, "nothing waits for you", header, func(r *approvals.Request) []string {
			_, what, ok := visitors.ReadRequest(r.Operation, r.Input)
			if !ok {
				what = brief(string(r.Input))
			}
			return []string{r.ID, r.Status, asker(r), s.paint.line(r.Operation+" "+what, 60), s.minute(time.UnixMilli(r.Created))}
		})
	})
}

// asker is who makes the call of a request.
func asker(r *approvals.Request) string {
	if visitor, _, ok := visitors.ReadRequest(r.Operation, r.Input); ok {
		return visitor
	}
	if len(r.Via) == 0 {
		return r.Agent
	}
	return r.Agent + " for " + strings.Join(r.Via, ", ")
}

type onRequest struct {
	onVenue
	ofOwner
	ID string `arg:"" help:"The request's id."`
}

type approvalsShowCmd struct{ onRequest }

func (c *approvalsShowCmd) Run(ctx context.Context, s *streams) error {
	return c.absent(answer(ctx, s, &c.onVenue, "approval:show", approvals.Ref{Of: c.of(), ID: c.ID}, func(req approvals.Request) error {
		return s.print(s.request(&req))
	}), "approvals list")
}

// request is a request as a person reads it.
func (s *streams) request(r *approvals.Request) string {
	rows := [][]string{
		{"request", r.ID},
		{"status", r.Status},
		{"by", asker(r)},
		{"operation", r.Operation},
		{"input", s.paint.safe(compact(r.Input))},
		{"needs", strings.Join(r.Needs, ", ")},
		{"why", s.paint.safe(r.Why)},
	}
	rows = append(rows, fullRows([][]string{{"grants", r.Grants}, {"run", r.Run}, {"session", r.Session}})...)
	rows = append(rows, []string{"since", s.minute(time.UnixMilli(r.Created))}, []string{"until", s.minute(time.UnixMilli(r.Expires))}, []string{"digest", r.Digest})
	if a := r.Answer; a != nil {
		rows = append(rows, []string{"answered", strings.TrimSpace(s.minute(time.UnixMilli(a.At)) + " " + s.paint.safe(a.Reason))})
		if a.By != r.Owner {
			rows = append(rows, []string{"by", a.By})
		}
		if limits, err := a.Limits(); err == nil && len(a.When) > 0 {
			rows = append(rows, []string{"when", s.paint.safe(limits.String())})
		}
	}
	return s.columns(rows)
}

func compact(raw json.RawMessage) string {
	out, err := json.Marshal(raw) // what a person is asked about must not look like two things
	if err != nil {
		return string(raw)
	}
	return string(out)
}

type approvalsApproveCmd struct {
	onRequest
	For    string    `placeholder:"DURATION" help:"How long the approval holds, such as 10m. Default: 24h."`
	Digest string    `placeholder:"DIGEST" help:"Digest of the call that you looked at: another one is refused."`
	Only   onlyThese `placeholder:"NAME,..." help:"Of the capabilities that an agent from elsewhere asks for, these alone."`
	When   string    `placeholder:"JSON" help:"Limits, such as {\"/amount\": {\"max\": 50}}: a call beyond them is refused, and may be made once within them. For an agent from elsewhere, limits on what it gets: {\"/transfer/amount\": {\"max\": 50}}."`
	Reason string    `placeholder:"TEXT" help:"What to note of it."`
}

// onlyThese are names with a comma between them, one at least: what is empty is nothing, and not all.
type onlyThese []string

// Decode reads one flag.
func (o *onlyThese) Decode(c *kong.DecodeContext) error {
	var text string
	if err := c.Scan.PopValueInto("names", &text); err != nil {
		return err
	}
	list := strings.Split(text, ",")
	if slices.Contains(list, "") {
		return errors.New("a name is empty: say which are meant, or leave the flag out to mean all")
	}
	*o = append(*o, list...)
	return nil
}

func (c *approvalsApproveCmd) Run(ctx context.Context, s *streams) error {
	yes := approvals.Yes{Of: c.of(), ID: c.ID, For: c.For, Digest: c.Digest, Only: c.Only, Reason: c.Reason}
	if c.When != "" {
		limits, err := caps.ParseLimits([]byte(c.When))
		if err != nil {
			return misusef("--when: %w", err)
		}
		yes.When = limits.JSON()
	}
	return c.answer(ctx, s, "approval:approve", yes)
}

type approvalsDenyCmd struct {
	onRequest
	Reason string `placeholder:"TEXT" help:"What the agent is told."`
}

func (c *approvalsDenyCmd) Run(ctx context.Context, s *streams) error {
	return c.answer(ctx, s, "approval:deny", approvals.No{Of: c.of(), ID: c.ID, Reason: c.Reason})
}

// answer answers a request. Its run goes on where the venue is kept, and here
// otherwise.
func (c *onRequest) answer(ctx context.Context, s *streams, op string, in any) error {
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		req, err := ask[approvals.Request](ctx, u, op, in)
		if err != nil {
			return c.absent(err, "approvals list")
		}
		only := ""
		if a := req.Answer; a != nil && len(a.When) > 0 {
			limits, err := a.Limits()
			if err != nil {
				return err
			}
			only = ", only when " + s.paint.safe(limits.String())
		}
		if err := s.answer(c.JSON, req, fmt.Sprintf("%s %s: %s %s%s\n", req.ID, req.Status, s.paint.safe(req.Operation), s.paint.line(string(req.Input), 80), only)); err != nil {
			return err
		}
		if s.upVenue() != nil || req.Run == "" || c.Owner != "" { // another's run goes on where it is kept
			return nil
		}
		return c.goOn(ctx, s, u, req.Run)
	})
}

// goOn has a run go on here, and says how it ends.
func (f *fromConfig) goOn(ctx context.Context, s *streams, u *venue.User, id string) error {
	r, err := u.Resume(ctx, id)
	if err != nil {
		return err
	}
	s.note("run " + r.ID() + " goes on")
	_, err = r.Wait(ctx)
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case fault.Of(err) == fault.Waiting:
		s.note("run " + r.ID() + ": " + err.Error())
	case err != nil:
		s.note("run " + r.ID() + " failed: " + err.Error())
		return errQuiet
	default:
		s.note("run " + r.ID() + " is done: " + f.command("runs show "+r.ID()))
	}
	return nil
}

type runsResumeCmd struct{ onRun }

func (c *runsResumeCmd) Run(ctx context.Context, s *streams) error {
	return c.withRun(ctx, s, func(u *venue.User, r *runs.Record) error { return c.goOn(ctx, s, u, r.ID) })
}

// waitsFor says what a turn waits for that rests; false where it does not rest.
func waitsFor(err error) (run string, requests []string, rests bool) {
	rest, rests := errors.AsType[*runtime.RestError](err)
	if !rests {
		return "", nil, false
	}
	if wait, ok := errors.AsType[*tools.WaitError](err); ok {
		run = wait.Run
	}
	for _, w := range rest.Waits {
		if w.Approval != "" {
			requests = append(requests, w.Approval)
		}
	}
	return run, requests, true
}

// noteWaits says how what a turn waits for is answered.
func (f *fromConfig) noteWaits(s *streams, err error) {
	_, requests, _ := waitsFor(err)
	for _, id := range requests {
		s.note("look at it: " + f.command("approvals show "+id) + "; allow it: " + f.command("approvals approve "+id))
	}
}

// askPerson has the person answer what a turn waits for, and goes on with it, until it
// waits for nobody here.
func (c *chat) askPerson(ctx context.Context, in lines, err error) error {
	for {
		run, requests, rests := waitsFor(err)
		if !rests || run == "" || len(requests) == 0 {
			return err
		}
		for _, id := range requests {
			if err := c.decide(ctx, in, id); err != nil {
				return err
			}
		}
		err = c.stoppable(ctx, func(ctx context.Context) error { return c.goesOn(ctx, run) })
	}
}

// decide shows a call and asks for the answer.
func (c *chat) decide(ctx context.Context, in lines, id string) error {
	req, err := ask[approvals.Request](ctx, c.user, "approval:show", approvals.Ref{ID: id})
	if err != nil || req.Status != approvals.Pending {
		return err
	}
	fmt.Fprint(c.err, c.request(&req))
	question := `allow this call? [y/N, or limits such as {"/amount": {"max": 50}}] `
	if req.Grants != "" {
		question = "grant " + req.Grants + " for this task? [y/N] "
	}
	for {
		line, err := in.next(question)
		if err != nil {
			return err
		}
		yes, text := approvals.Yes{ID: id, Digest: req.Digest}, strings.ToLower(strings.TrimSpace(line))
		if strings.HasPrefix(text, "{") {
			limits, err := caps.ParseLimits([]byte(line))
			if err != nil {
				c.note(err.Error())
				continue
			}
			yes.When = limits.JSON()
		} else if text != "y" && text != "yes" {
			break
		}
		_, err = ask[approvals.Request](ctx, c.user, "approval:approve", yes)
		if fault.Of(err) != fault.InvalidInput {
			return err
		}
		c.note(err.Error()) // and the question stands, unless it is answered by now
		if now, err := ask[approvals.Request](ctx, c.user, "approval:show", approvals.Ref{ID: id}); err != nil || now.Status != approvals.Pending {
			return err
		}
	}
	_, err = ask[approvals.Request](ctx, c.user, "approval:deny", approvals.No{ID: id})
	return err
}

// goesOn follows a turn that goes on.
func (c *chat) goesOn(ctx context.Context, run string) error {
	r, err := c.user.Resume(ctx, run)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { r.Stop(context.Cause(ctx)) })()
	here := context.WithoutCancel(ctx)
	var turn iter.Seq2[runtime.Event, error] = func(yield func(runtime.Event, error) bool) {
		for e, err := range r.Events(here, 0) {
			if !yield(e.Event, err) {
				return
			}
		}
		if _, err := r.Wait(here); err != nil {
			yield(nil, err)
		}
	}
	return c.view().show(turn, c.json)
}
