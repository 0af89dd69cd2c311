package venue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"usher/runtime"
	"usher/tools/approvals"
	"usher/venue"
	"usher/venue/runs"
)

// next begins a sequence: now and then in a new folder, so that none grows for ever.
func (b *branch) next(t *rapid.T, parent string) *teller {
	if b.sequences%50 == 0 {
		b.close(t)
		dir, err := os.MkdirTemp(parent, "branch")
		if err != nil {
			t.Fatal(err)
		}
		b.dir, b.began = dir, time.Now().Truncate(time.Second)
		b.now.Store(0)
		b.open(t)
	}
	b.sequences++
	c := &teller{T: t, branch: b, name: fmt.Sprint("alice-", b.sequences), asks: map[string]*approval{}}
	c.till = &till{payers: map[string]payer{}, programs: map[string]program{}, now: b.now.Load()}
	c.enter()
	return c
}

// teller is one sequence.
type teller struct {
	*rapid.T
	*branch
	name    string
	user    *venue.User
	till    *till
	errands []*errand
	asks    map[string]*approval
	n       int
	log     []string
}

func (c *teller) enter() {
	var err error
	if c.user, err = c.venue.User(context.Background(), c.name); err != nil {
		c.Fatal(err)
	}
}

func (c *teller) do(op string, input any) error {
	_, err := c.user.Invoke(context.Background(), op, input)
	return err
}

func (c *teller) fail(format string, args ...any) {
	c.Fatalf("%s\nafter\n%s\nwith %+v\n%v", fmt.Sprintf(format, args...), strings.Join(c.log, "\n"), c.till, c.now.Load())
}

func (c *teller) of(from ...string) string { return rapid.SampledFrom(from).Draw(c.T, "of") }
func (c *teller) one(in int) bool          { return rapid.IntRange(1, in).Draw(c.T, "one") == 1 }

var (
	payees   = []string{"eve", "bob"}
	payers   = []string{"a1", "a2", "a3"}
	programs = []string{"o/x", "o/y"}
)

func (c *teller) terms() (list []terms) {
	for range rapid.IntRange(0, 3).Draw(c.T, "terms") {
		t := terms{to: c.of("", "eve", "bob"), ask: c.one(2)}
		if c.one(3) {
			t.most = 50
		}
		if c.one(4) {
			t.until = c.till.now + 900
		}
		if c.one(8) {
			t = terms{to: c.of(payees...), deny: true}
		}
		list = append(list, t)
	}
	if c.one(2) {
		list = append(list, terms{ask: true})
	}
	return list
}

// written are capabilities as they are given.
func (c *teller) written(list []terms) (out []map[string]any) {
	for _, more := range [][2]string{{"o", "invoke"}, {"g", "agent"}, {"", "invoke"}, {"approvals", "approval"}} {
		out = append(out, map[string]any{"with": more[0], "can": more[1]})
	}
	for _, t := range list {
		g := map[string]any{"with": strings.TrimSuffix("w/bank/"+t.to, "/"), "can": "crud/write"}
		if t.ask {
			g["ask"] = true
		}
		if t.deny {
			g["deny"] = true
		}
		if t.most > 0 {
			g["when"] = map[string]any{"/amount": map[string]any{"max": t.most}}
		}
		if t.until > 0 {
			g["until"] = c.began.Add(time.Duration(t.until) * time.Second).UTC().Format(time.RFC3339)
		}
		out = append(out, g)
	}
	return out
}

// hire makes an agent anew, of the user or of another agent.
func (c *teller) hire(id, by string) {
	list := c.terms()
	config := map[string]any{"tools": []string{"bank:*", "agent:*", "grid:*", "approval:*"}, "caps": c.written(list)}
	input := map[string]any{"agentId": id, "config": config, "overwrite": true}
	next := payer{status: asleep, caps: list}
	if by == "" {
		if err := c.do("agent:create", input); err != nil {
			c.fail("create %s: %v", id, err)
		}
	} else {
		giver := c.till.lifeOf(by)
		if !c.till.alive(giver) || c.turn(by, "", order1("agent_create", input)) == "" {
			return // it would be wider than who makes it
		}
		next.givers = append(slices.Clone(c.till.payers[id].givers), giver)
	}
	c.till.lives++
	next.n = c.till.lives
	if old := c.till.payers[id]; old.n > 0 && old.status != ended { // an update is no new life
		next.n, next.status = old.n, old.status
	}
	c.till.payers[id] = next
	c.log = append(c.log, fmt.Sprintf("hire %s by %q: %+v", id, by, next))
}

type command struct {
	Calls []map[string]any `json:"calls"`
}

func order1(tool string, input any) command {
	return command{[]map[string]any{{"tool": tool, "input": input}}}
}

// turn has an agent make calls in a turn that does not rest. It returns what the first
// came to; empty where it was not done.
func (c *teller) turn(id, session string, what command) string {
	raw, err := json.Marshal(what)
	if err != nil {
		c.Fatal(err)
	}
	a, err := c.user.Agent(context.Background(), id)
	if err != nil {
		return ""
	}
	text := ""
	for ev, err := range a.ChatIn(context.Background(), session, string(raw)) {
		if done, ok := ev.(runtime.ToolEnd); ok && done.Outcome == runtime.ToolOK {
			text = done.Result
		}
		if err != nil {
			return ""
		}
	}
	return text
}

// call is a wish as a model makes it.
func (w *wish) call() map[string]any {
	input := map[string]any{"to": w.To, "amount": w.Amount, "n": w.N}
	switch w.how {
	case "direct":
		return map[string]any{"tool": "bank_" + w.Op, "input": input}
	case "job":
		return map[string]any{"tool": "grid_run", "input": map[string]any{"operation": "bank:" + w.Op, "input": input}}
	}
	return map[string]any{"tool": "grid_run", "input": map[string]any{"operation": w.how, "input": input}}
}

// pay sends agents on an errand: one alone, or one that asks another.
func (c *teller) pay(path []string, wishes []wish) {
	e := &errand{path: path, session: fmt.Sprint("s", len(c.errands)), woken: true}
	for _, id := range path {
		e.lives = append(e.lives, c.till.lifeOf(id))
	}
	what := command{}
	for _, w := range wishes {
		what.Calls = append(what.Calls, w.call())
		e.slots = append(e.slots, &slot{wish: w, program: c.till.programs[w.how].n})
	}
	for _, id := range path[1:] {
		text, err := json.Marshal(what)
		if err != nil {
			c.Fatal(err)
		}
		what = order1("agent_request", map[string]any{"agentId": id, "input": string(text)})
	}
	raw, err := json.Marshal(what)
	if err != nil {
		c.Fatal(err)
	}
	c.log = append(c.log, fmt.Sprintf("pay %v %+v", path, wishes))
	out := c.till.goesOn(e, c.asks)
	a, err := c.user.Agent(context.Background(), path[0])
	if err == nil {
		var run *runs.Run
		if run, err = a.Start(context.Background(), e.session, string(raw)); err == nil {
			e.run = run.ID()
			_, _ = run.Wait(context.Background())
		}
	}
	if err != nil && len(out.must) > 0 {
		c.fail("the errand does not begin: %v", err)
	}
	c.errands = append(c.errands, e)
	c.settle(e, out)
}

// goOn has a run of an errand go on: its own, or that which asks.
func (c *teller) goOn(e *errand, run string) {
	c.look(e)
	e.loose = e.loose || run != e.run // which of them goes on
	out := c.till.goesOn(e, c.asks)
	c.log = append(c.log, fmt.Sprintf("go on with %s of %s", run, e.run))
	r, err := c.user.Resume(context.Background(), run)
	switch {
	case err == nil:
		_, _ = r.Wait(context.Background())
	case len(out.must) > 0:
		c.fail("run %s does not go on: %v", e.run, err)
	}
	c.settle(e, out)
}

func (c *teller) reopen() {
	c.open(c.T)
	c.enter()
}

// crash has an errand go on, and the disk break at one of its commits. What was
// approved may have been paid by then, and is not paid again.
func (c *teller) crash(e *errand) {
	c.look(e)
	e.loose = true
	out := c.till.goesOn(e, c.asks)
	left := rapid.IntRange(1, 16).Draw(c.T, "commits")
	c.log = append(c.log, fmt.Sprintf("break after %d half commits of %s", left, e.run))
	c.disk.mu.Lock()
	c.disk.left = left
	c.disk.mu.Unlock()
	if r, err := c.user.Resume(context.Background(), e.run); err == nil {
		_, _ = r.Wait(context.Background())
	}
	_ = c.venue.Close() // it cannot write how its runs ended
	c.reopen()
	c.settle(e, out)
}

// look sees whether an errand has ended.
func (c *teller) look(e *errand) {
	rec, err := c.user.Run(context.Background(), e.run)
	e.over = err != nil || rec.Over()
}

// settle holds what was paid against the oracle, and sees what is asked about now.
func (c *teller) settle(e *errand, out outcome) {
	paid, by := c.bank.taken()
	who := ""
	if e != nil {
		who = e.path[len(e.path)-1]
	}
	if !out.within(paid) || slices.ContainsFunc(by, func(id string) bool { return id != who }) {
		c.fail("%v are paid by %v, want %v, and nothing but %v by %s", paid, by, out.must, out.may, who)
	}
	var list approvals.Listing
	if raw, err := c.user.Invoke(context.Background(), "approval:list", map[string]any{"all": true}); err != nil || json.Unmarshal(raw, &list) != nil {
		c.fail("list: %v", err)
	}
	used := map[spending]int{}
	for i := range list.Requests {
		req := &list.Requests[i]
		if was := c.asks[req.ID]; was != nil {
			if req.Status == approvals.Used && !was.used {
				was.used, was.status = true, req.Status
				used[was.spending]++
			}
			continue
		}
		got := approval{agent: req.Agent, run: req.Run, status: req.Status, expires: (req.Expires - c.began.UnixMilli()) / 1000}
		if err := json.Unmarshal(req.Input, &got.spending); err != nil {
			c.fail("the request shows %s", req.Input)
		}
		got.Op = opOf(req.Operation)
		if e == nil || got.agent != who {
			c.fail("a request comes from nowhere: %+v", req)
		}
		c.asks[req.ID] = &got
		for _, s := range e.slots {
			if a := c.asks[s.req]; !s.done && (a == nil || a.status != "PENDING" || s.program != c.till.programs[s.how].n) && c.till.comes(s.wish) == got.spending {
				s.req, s.program = req.ID, c.till.programs[s.how].n
				break
			}
		}
	}
	for p := range maps.Keys(out.asks) {
		if n := count(paid)[p]; n > used[p] {
			c.fail("%+v is paid %d times, and %d approvals are used up", p, n, used[p])
		}
	}
	if e != nil {
		c.look(e)
	}
}

// answer has the person answer a request.
func (c *teller) answer() {
	var open []string
	for id, a := range c.asks {
		if a.status == approvals.Pending {
			open = append(open, id)
		}
	}
	if len(open) == 0 {
		return
	}
	slices.Sort(open)
	id := c.of(open...)
	a := c.asks[id]
	rec, err := c.user.Run(context.Background(), a.run)
	stands := err == nil && !rec.Over() && c.till.now <= a.expires
	op, in := "approval:approve", map[string]any{"id": id}
	life := int64(24 * 60 * 60)
	switch {
	case c.one(4):
		op = "approval:deny"
	case c.one(2):
		in["for"], life = "10m", 600
	}
	err = c.do(op, in)
	c.log = append(c.log, fmt.Sprintf("%s %s %+v: %v", op, id, *a, err))
	if (err == nil) != stands {
		c.fail("%s of %+v: %v", op, *a, err)
	}
	switch {
	case err != nil:
	case op == "approval:deny":
		a.status = approvals.Denied
	default:
		a.status, a.expires = approvals.Approved, c.till.now+life
	}
	for _, e := range c.errands {
		e.woken = e.woken || err == nil && slices.ContainsFunc(e.slots, func(s *slot) bool { return s.req == id })
	}
	if err := c.do("approval:approve", map[string]any{"id": id}); err == nil {
		c.fail("%s is answered twice", id)
	}
	c.settle(nil, outcome{})
}

// write writes a program anew, or takes it away.
func (c *teller) write(at string) {
	p := program{op: c.of("pay", "pay", "refund"), steps: c.one(2)}
	input := map[string]any{"to": []any{"input", "to"}, "amount": []any{"input", "amount"}, "n": []any{"input", "n"}}
	if p.steps && c.one(2) {
		p.amount = c.till.written + 1
		input["amount"] = []any{"const", p.amount}
	}
	value := map[string]any{"operation": map[string]any{"adapter": "bank:" + p.op}}
	if p.steps {
		value["operation"] = map[string]any{"adapter": "orchestrator", "steps": []any{map[string]any{"op": "bank:" + p.op, "input": input}}}
	}
	if err := c.do("covia:write", map[string]any{"path": at, "value": value}); err != nil {
		c.fail("write: %v", err)
	}
	c.till.written++
	p.n = c.till.written
	c.till.programs[at] = p
	c.log = append(c.log, fmt.Sprintf("write %s %+v", at, p))
}

// change has something else happen to an agent, a session or the venue.
func (c *teller) change() {
	id := c.of(payers...)
	p := c.till.payers[id]
	var err error
	switch what := c.of("caps", "caps", "hire", "fire", "suspend", "resume", "write", "write", "fork", "talk", "stop", "itself", "clock", "clock", "restart"); what {
	case "caps":
		if p.caps = c.terms(); p.status != ended {
			err = c.do("agent:update", map[string]any{"agentId": id, "config": map[string]any{"caps": c.written(p.caps)}})
		}
		c.till.payers[id] = p
	case "hire":
		by := ""
		if id != "a1" {
			by = c.of("", "a1")
		}
		c.hire(id, by)
	case "fire":
		err = c.do("agent:delete", map[string]any{"agentId": id})
		p.status = ended
		c.till.payers[id] = p
		if err == nil && c.one(2) {
			c.hire(id, "")
		}
	case "suspend", "resume":
		if p.status == ended {
			return
		}
		err = c.do("agent:"+what, map[string]any{"agentId": id})
		p.status = map[string]string{"suspend": suspended, "resume": asleep}[what]
		c.till.payers[id] = p
	case "write":
		c.write(c.of(programs...))
	case "fork":
		_ = c.do("agent:fork", map[string]any{"sourceId": id, "agentId": "copy", "overwrite": true}) // of one that has ended it fails
		c.turn("copy", "s0", command{})
	case "talk":
		c.turn(id, fmt.Sprint("s", rapid.IntRange(0, 3).Draw(c.T, "session")), command{})
	case "stop":
		if len(c.errands) > 0 {
			e := rapid.SampledFrom(c.errands).Draw(c.T, "errand")
			if e.run != "" {
				err = c.user.Stop(context.Background(), e.run)
			}
		}
	case "itself":
		for req := range c.asks {
			c.turn(id, "", order1("approval_approve", map[string]any{"id": req}))
		}
	case "clock":
		c.now.Add(int64(rapid.SampledFrom([]int{60, 700, 90_000, 700_000}).Draw(c.T, "seconds")))
		c.till.now = c.now.Load()
	case "restart":
		if c.one(3) {
			c.close(c.T)
			c.reopen()
		}
	}
	c.log = append(c.log, fmt.Sprintf("something becomes of %s: %+v at %d", id, c.till.payers[id], c.till.now))
	if err != nil {
		c.fail("%v", err)
	}
	c.settle(nil, outcome{})
}

// wishes draws calls of one answer, some of them twice.
func (c *teller) wishes() (list []wish) {
	for range rapid.IntRange(1, 3).Draw(c.T, "wishes") {
		c.n++
		w := wish{spending{c.of("pay", "refund"), c.of(payees...), rapid.SampledFrom([]int{10, 90}).Draw(c.T, "amount"), c.n}, c.of("direct", "direct", "job", "o/x", "o/y")}
		if list = append(list, w); c.one(4) {
			list = append(list, w)
		}
	}
	return list
}

// deed draws what happens next.
func (c *teller) deed() {
	what := c.of("pay", "pay", "answer", "answer", "answer", "on", "on", "on", "again", "change", "change")
	if len(c.errands) == 0 {
		what = "pay"
	}
	switch what {
	case "pay":
		path := [][]string{{"a1"}, {"a2"}, {"a3"}, {"a1", "a2"}, {"a1", "a3"}, {"a3", "a2"}}
		c.pay(rapid.SampledFrom(path).Draw(c.T, "path"), c.wishes())
	case "again": // the same calls, in another turn
		e := rapid.SampledFrom(c.errands).Draw(c.T, "errand")
		var list []wish
		for _, s := range e.slots {
			list = append(list, s.wish)
		}
		c.pay(e.path, list)
	case "answer":
		c.answer()
	case "on":
		e := rapid.SampledFrom(c.errands).Draw(c.T, "errand")
		if c.one(8) {
			c.crash(e)
			return
		}
		run := e.run
		if a := c.asks[e.slots[0].req]; a != nil && c.one(4) {
			run = a.run
		}
		c.goOn(e, run)
	case "change":
		c.change()
	}
}

// However requests, answers and changes of all that they are about follow one another,
// no payment happens that nobody allowed, none that nobody approved as it is, and none
// twice for one approval; what is approved, and stands, happens. Ten thousand sequences:
// go test ./venue -run TestOracleOfApprovals -rapid.checks=10000
func TestOracleOfApprovals(t *testing.T) {
	t.Parallel()
	b := new(branch)
	dir := t.TempDir()
	defer func() { b.close(t) }()
	rapid.Check(t, func(t *rapid.T) {
		if testing.Short() && b.sequences >= 8 {
			return
		}
		c := b.next(t, dir)
		for _, at := range programs {
			c.write(at)
		}
		c.hire("a1", "")
		c.hire("a3", "")
		c.hire("a2", c.of("", "a1"))
		if c.till.payers["a2"].n == 0 {
			c.hire("a2", "")
		}
		for range rapid.IntRange(8, 25).Draw(t, "deeds") {
			c.deed()
		}
	})
}
