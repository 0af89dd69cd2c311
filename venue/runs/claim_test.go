package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
	"usher/tools/toolstest"
	"usher/ucan"
	"usher/venue/runs"
	"usher/venue/store"
)

// heir is another process, which goes on with runs of the house and does nothing in them
// until it is told.
type heir struct {
	*house
	goOn chan struct{}
}

func (d heir) Open(stored []byte) (tools.Authority, error) { return d.mint.Open(stored) }

func (d heir) Resume(ctx context.Context, rec *runs.Record, _ tools.Authority) (runs.Work, *runs.Session, func(), error) {
	if rec.Session == "" {
		return until(d.goOn), nil, nil, nil
	}
	s, release, err := d.Sessions().Open(ctx, rec.Of, rec.Session, true)
	return func(ctx context.Context, r *runs.Run) (json.RawMessage, error) {
		defer release()
		return until(d.goOn)(ctx, r)
	}, s, release, err
}

func (heir) IsAnswered(context.Context, ucan.DID, string) (bool, error) { return false, nil }

func (heir) IsGone(context.Context, tools.Life) (bool, error) { return false, nil }

// second opens another book over what the house has.
func (h *house) second(t *testing.T) heir {
	t.Helper()
	book, err := runs.Open(t.Context(), runs.Options{
		Store: h.store.Under(""), Ledger: h.ledger, Spending: free{}, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		NewID: func() (string, error) { return "second", nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(book.Close)
	other := *h
	other.Book = book
	d := heir{&other, make(chan struct{})}
	if err := book.Drive(t.Context(), d, false); err != nil {
		t.Fatal(err)
	}
	return d
}

// rows are all rows of the store.
func (h *house) rows(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for row, err := range store.Rows(t.Context(), h.store.Under(""), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		out[row.Key] = string(row.Value)
	}
	return out
}

// robbed is what a process does in a run that another one takes over meanwhile.
type robbed struct {
	h     *house
	began chan struct{} // closed when the first call runs
	taken chan struct{} // closed when the run is another's
	calls int
	tries []error
}

const approvalRow = "p/req/x"

// pay is the call that runs when the run is taken over, and is not to run again.
func (b *robbed) pay(ctx context.Context, call tools.Call, _ struct{}) (string, error) {
	if b.calls++; b.calls > 1 {
		return "twice", nil
	}
	close(b.began)
	<-b.taken
	_, err := call.Invoke(ctx, "bank:pay", nil)
	b.tries = append(b.tries, err)
	_, rev, err := b.h.store.Get(ctx, approvalRow)
	if err == nil {
		_, err = b.h.RecordDecision(ctx, tools.Entry{Owner: b.h.alice.String(), Operation: "v/ops/bank/pay", Verdict: tools.Allowed, Grant: &tools.Grant{
			Approval: "x", Expect: map[string]uint64{approvalRow: rev}, Put: map[string][]byte{approvalRow: []byte("used")},
		}})
	}
	b.tries = append(b.tries, err, runs.From(ctx).Step(ctx, runtime.Step{Op: "covia:read", Status: runs.Complete}))
	return "done", nil
}

// Of a run that another process has taken over the first one writes nothing more, in
// whatever way: no event, no step, no record, no decision, no outcome, and it uses up no
// approval. What it was about to call does not start.
func TestARunThatWasTakenOver(t *testing.T) {
	for _, kind := range []string{runs.Job, runs.Orchestration, runs.Task, runs.Turn} {
		t.Run(kind, func(t *testing.T) {
			h := openHouse(t)
			b := &robbed{h: h, began: make(chan struct{}), taken: make(chan struct{})}
			pay := tools.New("bank:pay", "Pay.", func(struct{}) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} }, b.pay, tools.Within(caps.ScopeAbility("invoke")))
			registry := new(tools.Registry)
			if err := registry.Register(pay); err != nil {
				t.Fatal(err)
			}
			gate, mint := toolstest.NewGate(registry, &tools.GateOptions{Ledger: h.Book})
			h.mint = mint
			d := h.second(t)
			if _, err := h.store.Apply(t.Context(), nil, map[string][]byte{approvalRow: []byte("approved")}, nil); err != nil {
				t.Fatal(err)
			}
			auth := mint.Agent(h.alice, "bob", func() caps.Set { return caps.Unrestricted() })
			spec := runs.Spec{Kind: kind, Op: "v/ops/test", Agent: "bob"}
			work := func(ctx context.Context, r *runs.Run) (json.RawMessage, error) {
				for range 2 {
					_, err := gate.Invoke(ctx, auth.InRun(r.ID()), tools.Invocation{Operation: "bank:pay", At: runs.OfJob})
					b.tries = append(b.tries, err)
				}
				return json.RawMessage(`"by the first"`), nil
			}
			if kind == runs.Task || kind == runs.Turn {
				session, release, err := h.Sessions().Open(t.Context(), auth.Life(), "main", false)
				if err != nil {
					t.Fatal(err)
				}
				defer release()
				spec.Session = session
				work = func(ctx context.Context, r *runs.Run) (json.RawMessage, error) {
					agent := &runtime.Agent{ID: "bob", Authority: auth.InRun(r.ID()), Model: payer{}, Tools: []*tools.Operation{pay}}
					for _, err := range runtime.New(gate, nil).Turn(ctx, agent, session.Session, runtime.Say{Text: "Pay."}) {
						if err != nil {
							b.tries = append(b.tries, err)
						}
					}
					return json.RawMessage(`"by the first"`), nil
				}
			}
			first, err := h.Start(t.Context(), auth, spec, work)
			if err != nil {
				t.Fatal(err)
			}
			<-b.began
			second, err := d.Book.Resume(t.Context(), h.alice, first.ID())
			if err != nil {
				t.Fatal(err)
			}
			before := h.rows(t)
			close(b.taken)
			if _, err := first.Wait(t.Context()); errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			for i, err := range b.tries {
				if err == nil {
					t.Errorf("try %d of the first process is written", i)
				}
			}
			if b.calls != 1 {
				t.Errorf("the first process calls %d times, want once", b.calls)
			}
			if diff := cmp.Diff(before, h.rows(t)); diff != "" {
				t.Errorf("the first process changes (-before +after):\n%s", diff)
			}
			close(d.goOn)
			if out, err := second.Wait(t.Context()); err != nil || string(out) != `"done"` {
				t.Errorf("the second process comes to %s, %v", out, err)
			}
			if rec, err := d.Find(t.Context(), h.alice, first.ID()); err != nil || rec.Status != runs.Complete {
				t.Errorf("the run is %s, %v", rec.Status, err)
			}
		})
	}
}

// Whoever goes on with a run is told which outputs were too large to be kept: what stands
// in their place is none.
func TestAStepTooLargeToKeep(t *testing.T) {
	h := openHouse(t)
	large, _ := json.Marshal(strings.Repeat("x", 600<<10)) // cannot fail
	wrote := make(chan error)
	first := h.start(t, h.mint.User(h.alice), func(ctx context.Context, r *runs.Run) (json.RawMessage, error) {
		for i, s := range []runtime.Step{{Output: large}, {Input: large, Output: json.RawMessage(`{"written":true}`)}} {
			s.N, s.Op, s.Status = i, "covia:read", runs.Complete
			wrote <- r.Step(ctx, s)
		}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	for range 2 {
		if err := <-wrote; err != nil {
			t.Fatal(err)
		}
	}
	d := h.second(t)
	second, err := d.Book.Resume(t.Context(), h.alice, first.ID())
	if err != nil {
		t.Fatal(err)
	}
	if steps := second.Record().Steps; len(steps) != 2 || !steps[0].Lost || steps[1].Lost {
		t.Errorf("the steps are %+v, want the first output alone to be lost", steps)
	}
	close(d.goOn)
	if _, err := second.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

// payer is a model that never does anything else.
type payer struct{}

func (payer) Generate(context.Context, *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		yield(runtime.Chunk{Call: &runtime.CallDelta{Name: "bank_pay", Arguments: `{}`}}, nil)
	}
}
