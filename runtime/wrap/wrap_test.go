package wrap_test

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"usher/runtime"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// act is what a scripted model does in one call, in this order.
type act struct {
	before time.Duration // virtual time, before each chunk and the end
	chunks []runtime.Chunk
	err    error
	hang   bool // after the chunks, until ctx ends
	quiet  bool // says nothing of ctx's end
}

// script is a model that plays one act a call, and the last one for ever.
type script struct {
	mu    sync.Mutex
	acts  []act
	calls int
	began []time.Time
	ended int
}

func play(acts ...act) *script { return &script{acts: acts} }

func (s *script) Generate(ctx context.Context, _ *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		s.mu.Lock()
		a := s.acts[min(s.calls, len(s.acts)-1)]
		s.calls++
		s.began = append(s.began, time.Now())
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			s.ended++
			s.mu.Unlock()
		}()
		stopped := func() {
			if !a.quiet {
				yield(runtime.Chunk{}, ctx.Err())
			}
		}
		for _, c := range a.chunks {
			if !pause(ctx, a.before) {
				stopped()
				return
			}
			if !yield(c, nil) {
				return
			}
		}
		if a.hang {
			<-ctx.Done()
			stopped()
			return
		}
		if !pause(ctx, a.before) {
			stopped()
			return
		}
		if a.err != nil {
			yield(runtime.Chunk{}, a.err)
		}
	}
}

func (s *script) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// pause waits in the virtual time of a bubble.
func pause(ctx context.Context, d time.Duration) bool {
	if d == 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func say(s string) []runtime.Chunk { return []runtime.Chunk{{Text: s}, {Finish: "stop"}} }

func used(in, out int) runtime.Chunk {
	return runtime.Chunk{Usage: &runtime.Usage{Input: in, Output: out}}
}

// answer is what a consumer got.
type answer struct {
	text   string
	usage  runtime.Usage
	chunks []runtime.Chunk
	err    error
}

func ask(ctx context.Context, m runtime.Model, text string) answer {
	return send(ctx, m, &runtime.Request{Messages: []runtime.Message{{Role: runtime.RoleUser, Text: text}}})
}

func send(ctx context.Context, m runtime.Model, req *runtime.Request) answer {
	var a answer
	for c, err := range m.Generate(ctx, req) {
		if err != nil {
			a.err = err
			continue // a sequence that goes on after its error would be seen
		}
		a.text += c.Text
		if c.Usage != nil {
			a.usage = *c.Usage
		}
		a.chunks = append(a.chunks, c)
	}
	return a
}

// outage is a provider's error.
type outage struct {
	text      string
	temporary bool
	after     time.Duration
}

func (e outage) Error() string                     { return e.text }
func (e outage) Temporary() bool                   { return e.temporary }
func (e outage) RetryAfter() (time.Duration, bool) { return e.after, e.after > 0 }

var errPlain = errors.New("no such model")
