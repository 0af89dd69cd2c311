package orchestrate

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"usher/caps"
	"usher/caps/value"
	"usher/tools"
	"usher/tools/toolstest"
	"usher/ucan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// book keeps the records of runs in memory.
type book struct {
	past     []Step // of a run that goes on
	unbegun  bool   // what was started is known not to have begun
	mu       sync.Mutex
	steps    map[int]Step
	history  []string // "0 STARTED"
	output   string
	failure  error
	ended    int
	stepErr  func(Step) error
	beginErr error
}

func (b *book) Orchestrate(ctx context.Context, call tools.Call, _ string, _ json.RawMessage, work Work) (json.RawMessage, error) {
	if b.beginErr != nil {
		return nil, b.beginErr
	}
	output, failure := work(ctx, call.InRun("job-1"), b.past, b.step)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.output, b.failure = string(output), failure
	b.ended++
	return output, failure
}

func (b *book) step(_ context.Context, s Step) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stepErr != nil {
		if err := b.stepErr(s); err != nil {
			return err
		}
	}
	if b.steps == nil {
		b.steps = make(map[int]Step)
	}
	b.steps[s.N] = s
	b.history = append(b.history, value.Show(s.N)+" "+s.Status)
	return nil
}

func (b *book) statuses() []string {
	list := make([]string, len(b.steps))
	for n, s := range b.steps {
		list[n] = s.Status
	}
	return list
}

// house is a real gate with a few operations, and an orchestration at o/plan.
type house struct {
	registry *tools.Registry
	gate     *tools.Gate
	mint     *toolstest.Mint
	owner    ucan.DID
	book     *book
	meet     chan struct{} // test:meet sends on it or receives from it
	began    chan struct{} // test:block tells that it runs
	ran      *sync.Map     // operations that ran, to what job they belong
}

type anyInput struct {
	Value json.RawMessage `json:"value,omitempty"`
}

type anyOutput struct {
	Value json.RawMessage `json:"value"`
}

type noInput struct{}

type counted struct {
	Count int `json:"count"`
}

func open(t *testing.T, doc string) *house {
	t.Helper()
	plan, err := Compile(t.Context(), "o/plan", json.RawMessage(doc), nil)
	if err != nil {
		t.Fatal(err)
	}
	return openPlan(t, plan)
}

func openPlan(t *testing.T, plan *Plan) *house {
	t.Helper()
	key, err := ucan.KeyFromSeed(append(make([]byte, 31), 7))
	if err != nil {
		t.Fatal(err)
	}
	registry := new(tools.Registry)
	h := &house{registry: registry, owner: key.DID(), meet: make(chan struct{}), began: make(chan struct{}), ran: new(sync.Map)}
	h.book = new(book)
	h.gate, h.mint = toolstest.NewGate(registry, nil)
	registry.SetResolver(func(_ context.Context, _ ucan.DID, at caps.Resource, _ *tools.Meter) (*tools.Operation, error) {
		if at.String() == "o/plan" {
			return plan.Operation(h.book, tools.Bound{}), nil
		}
		return nil, nil
	})
	if err := registry.Register(h.operations()...); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *house) operations() []*tools.Operation {
	free := func(anyInput) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} }
	none := func(noInput) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} }
	return []*tools.Operation{
		tools.New("test:echo", "Return the value.", free,
			func(_ context.Context, call tools.Call, in anyInput) (anyOutput, error) {
				h.ran.Store(call.Operation(), call.Authority().Run())
				return anyOutput(in), nil
			}),
		tools.New("test:give", "Wait for test:take.", none,
			func(ctx context.Context, _ tools.Call, _ noInput) (anyOutput, error) {
				select {
				case h.meet <- struct{}{}:
				case <-ctx.Done():
				}
				return anyOutput{}, ctx.Err()
			}),
		tools.New("test:take", "Wait for test:give.", none,
			func(ctx context.Context, _ tools.Call, _ noInput) (anyOutput, error) {
				select {
				case <-h.meet:
				case <-ctx.Done():
				}
				return anyOutput{}, ctx.Err()
			}),
		tools.New("test:block", "Run until cancelled.", none,
			func(ctx context.Context, _ tools.Call, _ noInput) (anyOutput, error) {
				close(h.began)
				<-ctx.Done()
				return anyOutput{}, ctx.Err()
			}),
		tools.New("test:failWhenBlocked", "Fail once test:block runs.", none,
			func(_ context.Context, _ tools.Call, _ noInput) (anyOutput, error) {
				<-h.began
				return anyOutput{}, errBroken
			}),
		tools.New("test:fail", "Fail.", none,
			func(context.Context, tools.Call, noInput) (anyOutput, error) { return anyOutput{}, errBroken }),
		tools.New("test:panic", "Panic.", none,
			func(context.Context, tools.Call, noInput) (anyOutput, error) { panic("oh") }),
		tools.New("test:secret", "Write what few may write.",
			func(noInput) []caps.Request { return []caps.Request{caps.Need("crud/write", "w/secret")} },
			func(_ context.Context, call tools.Call, _ noInput) (anyOutput, error) {
				h.ran.Store(call.Operation(), call.Authority().Run())
				return anyOutput{}, nil
			}),
		tools.New("test:count", "Return a count.", none,
			func(context.Context, tools.Call, noInput) (counted, error) { return counted{7}, nil }),
		tools.Define(tools.Definition{
			Path: "o/bare", Description: "Return anything.",
			Needs: func(json.RawMessage) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} },
			Run: func(context.Context, tools.Call, json.RawMessage) (any, error) {
				h.ran.Store("o/bare", "")
				return 1, nil
			},
		}),
	}
}

var errBroken = errors.New("it broke")

// run runs the orchestration as an agent with these capabilities; none is the
// owner in person.
func (h *house) run(ctx context.Context, input string, held ...caps.Capability) (string, error) {
	auth := h.mint.User(h.owner)
	if len(held) > 0 {
		set := caps.Of(held...)
		auth = h.mint.Agent(h.owner, "Ann", func() caps.Set { return set })
	}
	result, err := h.gate.Invoke(ctx, auth, tools.Invocation{Operation: "o/plan", Input: json.RawMessage(input)})
	return string(result.Output), err
}

func plan(steps, result string) string {
	if result != "" {
		result = `,"result":` + result
	}
	return `{"type":"orchestration","operation":{"adapter":"orchestrator","steps":` + steps + result + `}}`
}

func sortedKeys(m *sync.Map) []string {
	found := make(map[string]bool)
	m.Range(func(k, _ any) bool {
		found[k.(string)] = true
		return true
	})
	return slices.Sorted(maps.Keys(found))
}

func (b *book) Unbegun(context.Context, tools.Call, tools.At) bool { return b.unbegun }
