package venue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	oklog "github.com/oklog/ulid/v2"

	"usher/caps"
	"usher/tools"
	"usher/tools/scheduler"
	"usher/tools/toolstest"
	"usher/ucan"
	"usher/venue/ledger"
	"usher/venue/runs"
	"usher/venue/schedules"
	"usher/venue/store"
	"usher/venue/store/journal"
)

// mortal is an engine whose process dies at a batch: before it is written, or when it is
// and nobody has heard of it.
type mortal struct {
	*store.Store // that survives
	mu           sync.Mutex
	left         int // batches until it dies
	written      bool
	dead         bool
}

var errDead = errors.New("the process is dead")

func (m *mortal) Apply(batch []store.Op) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left--
	if m.dead || m.left == 0 && !m.written {
		m.dead = true
		return "", errDead
	}
	expect, put := make(map[string]uint64), make(map[string][]byte)
	var del []string
	for _, op := range batch {
		switch op.Kind {
		case store.OpExpect:
			expect[op.Key] = op.Rev
		case store.OpPut:
			put[op.Key] = op.Value
		case store.OpDelete:
			del = append(del, op.Key)
		}
	}
	moved, err := m.Store.Apply(context.Background(), expect, put, del)
	if m.left == 0 {
		m.dead = true
		return "", errDead
	}
	return moved, err
}

func (m *mortal) Get(key string) ([]byte, uint64, error) {
	return m.Store.Get(context.Background(), key)
}

func (m *mortal) Page(w store.Walk) ([]store.Row, string, error) {
	if w.Back {
		return m.PageBack(context.Background(), w.Prefix, w.From, w.Limit)
	}
	return m.Store.Page(context.Background(), w.Prefix, w.From, w.Limit)
}

func (m *mortal) Snapshot() store.EngineSnapshot { panic("nobody takes one") }

func (m *mortal) Close() error { return nil }

func (m *mortal) died() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

// house is a book and a room in which time passes, over an engine that may die.
type schedulesHouse struct {
	gate  *tools.Gate
	book  *runs.Book
	alice tools.Authority
	close func()
}

// spending is none.
type schedulesSpending struct{}

func (schedulesSpending) Draft(context.Context, map[string][]byte) func(bool) { return nil }
func (schedulesSpending) Forget(context.Context, string) ([]string, error)    { return nil, nil }

func key(t *testing.T, seed byte) ucan.Key {
	t.Helper()
	raw := make([]byte, 32)
	raw[0] = seed
	k, err := ucan.KeyFromSeed(raw)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// open opens a house. Its operation test:mark counts.
func schedulesOpen(t *testing.T, st *store.Store, marks *atomic.Int64) *schedulesHouse {
	t.Helper()
	l, err := ledger.Open(t.Context(), st, ledger.Options{Key: key(t, 1)})
	if err != nil {
		t.Fatal(err)
	}
	newID := func() (string, error) { return oklog.Make().String(), nil }
	quiet := slog.New(slog.DiscardHandler)
	book, err := runs.Open(t.Context(), runs.Options{Store: st.Under(""), Ledger: l, Spending: schedulesSpending{}, Now: time.Now, NewID: newID, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	registry := new(tools.Registry)
	gate, mint := toolstest.NewGate(registry, &tools.GateOptions{Ledger: book, Key: make([]byte, 32)})
	room := schedules.New(schedules.Options{Store: st.Under(""), Runs: book, Gate: gate, Mint: mint.Mint, Now: time.Now, NewID: newID, Logger: quiet})
	mark := tools.New("test:mark", "Count.", func(struct{}) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} },
		func(context.Context, tools.Call, struct{}) (int64, error) { return marks.Add(1), nil }, tools.Within(caps.ScopeAbility("invoke")))
	if err := registry.Register(append(scheduler.Operations(room), mark)...); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { room.Run(ctx); close(done) }()
	return &schedulesHouse{gate, book, mint.User(key(t, 2).DID()), func() {
		stop()
		book.Close()
		<-done
		_ = l.Close() // of one that is dead it fails
	}}
}

// A process that dies at any batch of a firing, before or after it is written, leaves a
// venue in which each time has one job, and no effect twice.
func TestACrashAtEachBatchOfAFiring(t *testing.T) {
	for _, times := range []string{`"after":"2s"`, `"cron":"* * * * *"`, `"cron":"* * * * *","missed":"skip"`} {
		for _, written := range []bool{false, true} {
			died := true
			for at := 1; died; at++ {
				t.Run(fmt.Sprintf("%s, at %d, written %v", times, at, written), func(t *testing.T) {
					dir := t.TempDir()
					synctest.Test(t, func(t *testing.T) { died = crash(t, dir, times, at, written) })
				})
				if at > 50 {
					t.Fatal("it always dies")
				}
			}
		}
	}
}

// crash lets a process schedule, and die at a batch after that, and another one go on.
// It reports whether it died.
func crash(t *testing.T, dir, times string, at int, written bool) (died bool) {
	j, err := journal.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := ledger.Create(t.Context(), j.Store); err != nil {
		t.Fatal(err)
	}
	var marks atomic.Int64
	engine := &mortal{Store: j.Store, left: -1, written: written}
	h := schedulesOpen(t, store.New(engine), &marks)
	if _, err := h.gate.Invoke(t.Context(), h.alice, tools.Invocation{Operation: "scheduler:schedule", Input: json.RawMessage(`{"operation":"test:mark","name":"s",` + times + `}`)}); err != nil {
		t.Fatal(err)
	}
	engine.mu.Lock()
	engine.left = at
	engine.mu.Unlock()
	time.Sleep(time.Minute) // the first time of each
	synctest.Wait()
	died = engine.died()
	h.close()

	h = schedulesOpen(t, j.Store, &marks)
	defer h.close()
	time.Sleep(time.Second)
	synctest.Wait()
	list, _, err := h.book.List(t.Context(), h.alice.Owner(), "", 100)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 || list[0].Fired == nil {
		t.Fatalf("the first time has the jobs %+v", list)
	}
	switch j := list[0]; j.Status {
	case runs.Complete:
		if marks.Load() != 1 {
			t.Errorf("the job is complete, and it has %d effects", marks.Load())
		}
	case runs.Started, runs.Failed, runs.Cancelled: // it was cut: nobody here goes on with it
		if marks.Load() > 1 {
			t.Errorf("%d effects of one time", marks.Load())
		}
	default:
		t.Errorf("the job is %s: %s", j.Status, j.Error)
	}
	return died
}
