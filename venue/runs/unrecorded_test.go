package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
	"usher/tools/toolstest"
	"usher/venue/ledger"
	"usher/venue/runs"
	"usher/venue/store"
	"usher/venue/store/memory"
)

var errDisk = errors.New("the disk fails")

// A result is shown, put to the model and logged as what the ledger has of it, whichever
// write of a turn fails and however its calls meet: else as unknown, and once.
func TestNoResultWithoutItsOutcome(t *testing.T) {
	orders := map[string]string{
		"one by one":         "d0 f0 d1 f1 d2 f2",
		"side by side":       "d0 d1 d2 f0 f1 f2",
		"the last one first": "d0 d1 d2 f2 f1 f0",
		"one in between":     "d0 d1 f1 d2 f2 f0",
		"one late to tell":   "d0 d1 d2 f0 f1 f2 r0",
	}
	for name, order := range orders {
		for failure, how := range map[string]disk{
			"refused": {}, "refused once": {once: true}, "unknown": {unknown: true},
			"written, and unknown": {unknown: true, written: true}, "written, and unknown once": {unknown: true, written: true, once: true},
		} {
			t.Run(name+"/"+failure, func(t *testing.T) {
				for n, reached := 1, true; reached && !t.Failed(); n++ {
					f := &failing{disk: how, at: n}
					breakTurn(t, f, strings.Fields(order))
					if reached = f.applies >= n; t.Failed() {
						t.Errorf("where write %d fails", n)
					}
				}
			})
		}
	}
}

// disk says how a disk fails.
type disk struct{ once, unknown, written bool }

// failing is an engine in memory that fails at one batch, and from there on unless it
// fails once.
type failing struct {
	store.Engine
	disk
	at int

	mu      sync.Mutex
	armed   bool
	applies int
}

func (f *failing) Apply(batch []store.Op) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.armed {
		f.applies++
	}
	if !f.armed || f.applies < f.at || f.once && f.applies > f.at {
		return f.Engine.Apply(batch)
	}
	if f.applies > f.at || !f.unknown {
		return "", errDisk
	}
	if f.written {
		_, _ = f.Engine.Apply(batch)
	}
	return "", fmt.Errorf("%w: %w", store.ErrUnknown, errDisk)
}

func (f *failing) arm(armed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = armed
}

// meeting is the ledger of a gate that decides on calls, and hears of their ends, in an
// order: "d0" is the decision on the call 0, "f0" its outcome, and "r0" its return.
type meeting struct {
	tools.Ledger
	cond  *sync.Cond
	order []string
	calls map[uint64]string
}

func (m *meeting) await(ctx context.Context, step string) {
	m.cond.L.Lock()
	defer m.cond.L.Unlock()
	defer context.AfterFunc(ctx, m.cond.Broadcast)()
	for ctx.Err() == nil && slices.Contains(m.order, step) && m.order[0] != step {
		m.cond.Wait()
	}
}

// past leaves out steps that have been, or that never come.
func (m *meeting) past(steps ...string) {
	m.cond.L.Lock()
	defer m.cond.L.Unlock()
	m.order = slices.DeleteFunc(m.order, func(s string) bool { return slices.Contains(steps, s) })
	m.cond.Broadcast()
}

func (m *meeting) RecordDecision(ctx context.Context, e tools.Entry) (uint64, error) {
	m.await(ctx, "d"+e.Call)
	seq, err := m.Ledger.RecordDecision(ctx, e)
	if err != nil {
		m.past("d"+e.Call, "f"+e.Call, "r"+e.Call)
		return 0, err
	}
	m.cond.L.Lock()
	m.calls[seq] = e.Call
	m.cond.L.Unlock()
	m.past("d" + e.Call)
	return seq, nil
}

func (m *meeting) RecordOutcome(ctx context.Context, seq uint64, failure error) error {
	m.cond.L.Lock()
	call := m.calls[seq]
	m.cond.L.Unlock()
	m.await(ctx, "f"+call)
	err := m.Ledger.RecordOutcome(ctx, seq, failure)
	m.past("f" + call)
	m.await(ctx, "r"+call)
	m.past("r" + call)
	return err
}

// breakTurn runs a turn of three calls in a store that fails.
func breakTurn(t *testing.T, engine *failing, order []string) {
	engine.Engine = memory.New()
	st := store.New(engine)
	if err := ledger.Create(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	book := func() (*runs.Book, func()) {
		l, err := ledger.Open(t.Context(), st, ledger.Options{Key: key(t, 1)})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		b, err := runs.Open(t.Context(), runs.Options{
			Store: st.Under(""), Ledger: l, Spending: free{}, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
			NewID: func() (string, error) { n++; return fmt.Sprintf("%08d", n), nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		return b, func() { b.Close(); _ = l.Close() }
	}
	b, closeBook := book()

	var effects sync.Map
	op := tools.New("test:effect", "Have an effect.",
		func(struct{ N string }) []caps.Request { return []caps.Request{caps.NeedAbility("agent/request")} },
		func(_ context.Context, _ tools.Call, in struct{ N string }) (string, error) {
			effects.Store(in.N, true)
			return "done", nil
		}, tools.Within(caps.ScopeAbility("agent/request")))
	registry := new(tools.Registry)
	if err := registry.Register(op); err != nil {
		t.Fatal(err)
	}
	m := &meeting{Ledger: b, cond: sync.NewCond(new(sync.Mutex)), order: order, calls: make(map[uint64]string)}
	gate, mint := toolstest.NewGate(registry, &tools.GateOptions{Ledger: m})
	held := caps.Of(caps.MustCapability("", "agent/request"))
	auth := mint.Agent(key(t, 2).DID(), "clerk", func() caps.Set { return held })
	var heard []runtime.Message // by the model
	agent := &runtime.Agent{ID: "clerk", Authority: auth, Tools: []*tools.Operation{op}, Model: runtime.ModelFunc(func(_ context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
		heard = req.Messages
		return func(yield func(runtime.Chunk, error) bool) {
			if req.Messages[len(req.Messages)-1].Role == runtime.RoleTool {
				yield(runtime.Chunk{Text: "All is done."}, nil)
				return
			}
			for i := range 3 {
				id := fmt.Sprint(i)
				if !yield(runtime.Chunk{Call: &runtime.CallDelta{Index: i, ID: id, Name: op.ToolName(), Arguments: `{"N":"` + id + `"}`}}, nil) {
					return
				}
			}
		}
	})}
	session, release, err := b.Sessions().Open(t.Context(), auth.Life(), "main", false)
	if err != nil {
		t.Fatal(err)
	}
	engine.arm(true)
	run, err := b.Start(t.Context(), auth, runs.Spec{Kind: runs.Turn, Agent: "clerk", Session: session, Followed: true}, func(ctx context.Context, r *runs.Run) (out json.RawMessage, err error) {
		for _, turnErr := range runtime.New(gate, nil).Turn(ctx, agent, session.Session, runtime.Say{Text: "Do it."}) {
			err = turnErr
		}
		return nil, err
	})
	if err != nil {
		t.Fatal(err)
	}
	shown := make(map[string][]runtime.ToolEnd)
	answered := false
	for e := range run.Events(t.Context(), 0) {
		switch ev := e.Event.(type) {
		case runtime.ToolEnd:
			shown[ev.CallID] = append(shown[ev.CallID], ev)
		case runtime.TurnEnd:
			answered = ev.Error == ""
		}
	}
	_, failure := run.Wait(t.Context())
	engine.arm(false)
	release()
	closeBook()
	if answered && failure != nil {
		t.Errorf("the turn is shown as answered, and ended with %v", failure)
	}

	b, closeBook = book()
	defer st.Close()
	defer closeBook()
	outcomes := recorded(t, st, m.calls)
	for i := range 3 {
		id := fmt.Sprint(i)
		_, ran := effects.Load(id)
		if len(shown[id]) > 1 || failure == nil && len(shown[id]) != 1 {
			t.Errorf("call %s: its end is shown %d times: %+v", id, len(shown[id]), shown[id])
		}
		for _, done := range shown[id] {
			judge(t, "shown", id, done.Outcome, done.Result, ran, outcomes[id])
		}
	}
	for _, said := range heard {
		if said.Role == runtime.RoleTool && !said.Failed && outcomes[said.CallID] != "ok" {
			t.Errorf("call %s is ok to the model, and %q in the ledger", said.CallID, outcomes[said.CallID])
		}
	}
	if _, release, err = b.Sessions().Open(t.Context(), auth.Life(), "main", false); err != nil {
		t.Fatal(err)
	}
	defer release()
	for e, err := range b.Sessions().Entries(t.Context(), auth.Life(), "main", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if done, ok := e.Event.(runtime.ToolEnd); ok {
			_, ran := effects.Load(done.CallID)
			judge(t, "logged", done.CallID, done.Outcome, done.Result, ran, outcomes[done.CallID])
		}
	}
}

// recorded returns the outcomes that the ledger has, by the call.
func recorded(t *testing.T, st *store.Store, calls map[uint64]string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	for row, err := range ledger.NewReader(st, key(t, 1).DID()).Rows(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if row.Outcome != "" {
			out[calls[row.Of]] = row.Outcome
		}
	}
	return out
}

func judge(t *testing.T, where, call, outcome, result string, ran bool, recorded string) {
	t.Helper()
	open := strings.Contains(result, "is unknown")
	switch {
	case outcome == runtime.ToolOK && recorded != "ok":
		t.Errorf("call %s is %s as ok, and %q in the ledger", call, where, recorded)
	case ran && outcome != runtime.ToolOK && !open:
		t.Errorf("call %s, which ran, is %s as %s: %s", call, where, outcome, result)
	}
}
