package wrap

import (
	"container/list"
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"usher/runtime"
	"usher/tools/fault"
)

// CacheOptions adjusts [Cache]. The zero value is valid.
type CacheOptions struct {
	MaxEntries int              // answers kept, the longest unused go first; 0 is 1000
	TTL        time.Duration    // how long an answer is kept; 0 is for as long as there is room
	MaxAnswer  int              // bytes of one answer; a longer one fails with ErrAnswerSize; 0 is 16 MiB
	Now        func() time.Time // nil is time.Now
}

// ErrAnswerSize says that an answer exceeded [CacheOptions].MaxAnswer.
var ErrAnswerSize = fault.New(fault.TooLarge, "answer exceeds the cache's limit")

// Cache returns m with its answers kept, by the whole request. Equal requests
// at one time share one call, whose pieces all of them get as they come; the
// call ends when the last of them leaves. Only complete answers are kept:
// those that ended without an error and with a reason to finish, other than
// that they grew too long.
//
// A shared or kept answer reports no tokens and no cost but to the one who
// caused the call: it is spent once, by the budgets of that one's context.
func Cache(m runtime.Model, opts *CacheOptions) runtime.Model {
	c := &cache{model: m, kept: make(map[key]*list.Element), flights: make(map[key]*flight)}
	if opts != nil {
		c.opts = *opts
	}
	if c.opts.MaxEntries == 0 {
		c.opts.MaxEntries = 1000
	}
	if c.opts.MaxAnswer == 0 {
		c.opts.MaxAnswer = 16 << 20
	}
	if c.opts.Now == nil {
		c.opts.Now = time.Now
	}
	return c
}

type key = [sha256.Size]byte

type cache struct {
	model runtime.Model
	opts  CacheOptions

	mu      sync.Mutex // guards what follows, and what flights say it does
	kept    map[key]*list.Element
	recent  list.List // of *keptAnswer, the last used first
	flights map[key]*flight
}

type keptAnswer struct {
	key    key
	chunks []runtime.Chunk
	until  time.Time // zero is for ever
}

var (
	_ runtime.Model   = (*cache)(nil)
	_ runtime.Wrapper = (*cache)(nil)
)

func (c *cache) Unwrap() runtime.Model { return c.model }

func (c *cache) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		raw, err := canonical(req)
		if err != nil { // no JSON: the model says what is wrong
			c.model.Generate(ctx, req)(yield)
			return
		}
		k := sha256.Sum256(raw)
		for {
			chunks, f, first := c.join(ctx, k, req)
			if f == nil {
				for _, chunk := range chunks {
					if !yield(share(chunk, false), nil) {
						return
					}
				}
				return
			}
			if !c.follow(ctx, f, first, yield) {
				return
			}
		}
	}
}

// join returns the kept answer to a request, or the call to follow: one that
// runs, or a new one.
func (c *cache) join(ctx context.Context, k key, req *runtime.Request) (chunks []runtime.Chunk, f *flight, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.kept[k]; ok {
		answer := e.Value.(*keptAnswer)
		if answer.until.IsZero() || c.opts.Now().Before(answer.until) {
			c.recent.MoveToFront(e)
			return answer.chunks, nil, false
		}
		c.drop(e)
	}
	if f, ok := c.flights[k]; ok {
		f.followers++
		return nil, f, false
	}
	// The call is everybody's who follows it: it lives on when the first leaves.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f = &flight{key: k, followers: 1, cancel: cancel, ended: make(chan struct{}), news: make(chan struct{})}
	c.flights[k] = f
	go c.fly(ctx, f, clone(req))
	return nil, f, true
}

func (c *cache) keep(k key, chunks []runtime.Chunk) {
	answer := &keptAnswer{key: k, chunks: chunks}
	if c.opts.TTL > 0 {
		answer.until = c.opts.Now().Add(c.opts.TTL)
	}
	c.kept[k] = c.recent.PushFront(answer)
	for len(c.kept) > c.opts.MaxEntries {
		c.drop(c.recent.Back())
	}
}

func (c *cache) drop(e *list.Element) {
	delete(c.kept, e.Value.(*keptAnswer).key)
	c.recent.Remove(e)
}

// flight is one call and those who follow it. What is not constant is guarded
// by the cache's mu.
type flight struct {
	key       key
	cancel    context.CancelFunc
	ended     chan struct{} // closed when the call's goroutine returns
	followers int
	chunks    []runtime.Chunk // only ever appended to
	err       error
	done      bool
	news      chan struct{} // closed and replaced when something of the above changes
}

// fly makes the call. It is stopped and waited for by the last who leaves.
func (c *cache) fly(ctx context.Context, f *flight, req *runtime.Request) {
	defer close(f.ended)
	defer f.cancel()
	size := 0
	var failed error
	for chunk, err := range c.model.Generate(ctx, req) {
		size += chunkSize(&chunk)
		if err == nil && size > c.opts.MaxAnswer {
			err = fmt.Errorf("%w of %d bytes: raise it or shorten the answer", ErrAnswerSize, c.opts.MaxAnswer)
		}
		if err != nil {
			failed = err
			break
		}
		c.mu.Lock()
		f.chunks = append(f.chunks, share(chunk, true))
		f.tell()
		c.mu.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	f.err, f.done = failed, true
	f.tell()
	if c.flights[f.key] == f {
		delete(c.flights, f.key)
		if failed == nil && ctx.Err() == nil && complete(f.chunks) {
			c.keep(f.key, slices.DeleteFunc(slices.Clone(f.chunks), delayed))
		}
	}
}

func (f *flight) tell() {
	close(f.news)
	f.news = make(chan struct{})
}

// follow passes the call's pieces on as they come. It reports whether the
// request has to be made again: where the call failed by a bound that is only
// the first follower's.
func (c *cache) follow(ctx context.Context, f *flight, first bool, yield func(runtime.Chunk, error) bool) bool {
	defer c.leave(f)
	for at, begun := 0, false; ; {
		c.mu.Lock()
		fresh, done, err, news := f.chunks[at:], f.done, f.err, f.news
		c.mu.Unlock()
		again := done && err != nil && final(err) && !first && !begun && !slices.ContainsFunc(fresh, answers)
		for _, chunk := range fresh {
			if !yield(share(chunk, first), nil) {
				return false
			}
		}
		at, begun = at+len(fresh), begun || slices.ContainsFunc(fresh, answers)
		switch {
		case again:
			return true
		case done:
			if err != nil {
				yield(runtime.Chunk{}, err)
			}
			return false
		}
		select {
		case <-news:
		case <-ctx.Done():
			yield(runtime.Chunk{}, context.Cause(ctx))
			return false
		}
	}
}

func (c *cache) leave(f *flight) {
	c.mu.Lock()
	f.followers--
	last := f.followers == 0
	if last && c.flights[f.key] == f {
		delete(c.flights, f.key) // who comes now must not join a call that is being stopped
	}
	c.mu.Unlock()
	if last {
		f.cancel()
		<-f.ended
	}
}

// share copies a piece, so that nobody holds what others are given.
func share(c runtime.Chunk, paid bool) runtime.Chunk {
	if c.Call != nil {
		call := *c.Call
		c.Call = &call
	}
	if c.Usage != nil {
		usage := runtime.Usage{}
		if paid {
			usage = *c.Usage
		}
		c.Usage = &usage
	}
	if c.Delay != nil {
		delay := *c.Delay
		c.Delay = &delay
	}
	return c
}

func delayed(c runtime.Chunk) bool { return c.Delay != nil }
func answers(c runtime.Chunk) bool { return c.Delay == nil }

func complete(chunks []runtime.Chunk) bool {
	finish := ""
	for _, c := range chunks {
		if c.Finish != "" {
			finish = c.Finish
		}
	}
	switch finish {
	case "", "length", "max_tokens": // in the words of OpenAI's and Anthropic's interfaces
		return false
	}
	return true
}

func chunkSize(c *runtime.Chunk) int {
	n := len(c.Text) + len(c.Reasoning) + len(c.Finish) + len(c.Model) + 64 // an empty piece takes room too
	if c.Call != nil {
		n += len(c.Call.ID) + len(c.Call.Name) + len(c.Call.Arguments)
	}
	return n
}

// clone copies a request for use beyond the call that it came with.
func clone(req *runtime.Request) *runtime.Request {
	out := &runtime.Request{
		System: req.System, Messages: slices.Clone(req.Messages),
		Tools: slices.Clone(req.Tools), Output: slices.Clone(req.Output),
	}
	for i := range out.Messages {
		out.Messages[i].Calls = slices.Clone(out.Messages[i].Calls)
	}
	for i := range out.Tools {
		out.Tools[i].Input = slices.Clone(out.Tools[i].Input)
	}
	return out
}
