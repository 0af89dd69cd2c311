package venue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
	"usher/venue"
	"usher/venue/store"
)

// cashier is a model that makes the calls of one order at once, and tells what came of
// them. It has no state, so many agents have one.
func cashier(_ context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	last := req.Messages[len(req.Messages)-1]
	return func(yield func(runtime.Chunk, error) bool) {
		var what struct {
			Calls []struct {
				Tool  string
				Input json.RawMessage
			}
		}
		at := strings.Index(last.Text, `{"calls"`)
		if last.Role == runtime.RoleTool || at < 0 || json.Unmarshal([]byte(last.Text[at:]), &what) != nil {
			yield(runtime.Chunk{Text: last.Text}, nil)
			return
		}
		for i, c := range what.Calls {
			if !yield(runtime.Chunk{Call: &runtime.CallDelta{Index: i, ID: fmt.Sprint("c", i), Name: c.Tool, Arguments: string(c.Input)}}, nil) {
				return
			}
		}
	}
}

// paidOut is what the bank was told to do, and by whom.
type paidOut struct {
	mu   sync.Mutex
	list []spending
	by   []string
}

func (p *paidOut) tools() []*tools.Operation {
	var ops []*tools.Operation
	for _, op := range []string{"pay", "refund"} {
		ops = append(ops, tools.New("bank:"+op, "Move money.",
			func(in spending) []caps.Request { return []caps.Request{caps.Need("crud/write", "w/bank/"+in.To)} },
			func(_ context.Context, call tools.Call, in spending) (string, error) {
				p.mu.Lock()
				defer p.mu.Unlock()
				in.Op = op
				p.list, p.by = append(p.list, in), append(p.by, call.Actor())
				return "done", nil
			}, tools.Within(caps.ScopeUnder("crud/write", "w/bank", 1, 1))))
	}
	return ops
}

func (p *paidOut) taken() (list []spending, by []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list, by = p.list, p.by
	p.list, p.by = nil, nil
	return list, by
}

// brittle is an engine that breaks at a commit, before or after it is written, and
// writes nothing more.
type brittle struct {
	store.Engine
	mu     sync.Mutex
	left   int // half commits until it breaks; 0 is never
	broken bool
}

func (b *brittle) Apply(batch []store.Op) (moved string, err error) {
	if b.breaks() {
		return "", errors.New("the disk is gone")
	}
	if moved, err = b.Engine.Apply(batch); b.breaks() {
		return "", fmt.Errorf("the disk is gone: %w", store.ErrUnknown)
	}
	return moved, err
}

func (b *brittle) breaks() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left > 0 {
		b.left--
		b.broken = b.left == 0
	}
	return b.broken
}

// branch is the venue that sequences have in common, on disk, each with a user of its own.
// It is idle: runs go on when a sequence says so.
type branch struct {
	dir       string
	bank      paidOut
	disk      *brittle
	venue     *venue.Venue
	now       atomic.Int64 // in seconds since it began
	began     time.Time
	sequences int
}

func (b *branch) open(t interface{ Fatal(args ...any) }) {
	b.disk = new(brittle)
	opts := &venue.Options{
		Dir: b.dir, Idle: true, Tools: b.bank.tools(), Models: map[string]runtime.Model{"default": runtime.ModelFunc(cashier)},
		Now: func() time.Time { return b.began.Add(time.Duration(b.now.Load()) * time.Second) },
	}
	opts.Before(func(e store.Engine) store.Engine { b.disk.Engine = e; return b.disk })
	var err error
	if b.venue, err = venue.Open(context.Background(), opts); err != nil {
		t.Fatal(err)
	}
}

func (b *branch) close(t interface{ Fatal(args ...any) }) {
	if b.venue != nil {
		if err := b.venue.Close(); err != nil {
			t.Fatal(err)
		}
		b.venue = nil
	}
}
