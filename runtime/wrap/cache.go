package wrap

import (
	"container/list"
	"context"
	"crypto/sha256"
	"iter"
	"sync"
	"time"

	"usher/runtime"
)

// CacheOptions adjusts [Cache]. The zero value is valid.
type CacheOptions struct {
	MaxEntries int           `json:"max_entries" jsonschema:"Answers that are kept, the longest unused go first. Default: 1000."`
	TTL        time.Duration `json:"ttl" jsonschema:"How long an answer is kept. Default: as long as there is room."`
}

// maxKept bounds an answer that is kept: bytes.
const maxKept = 1 << 20

// Cache returns m with its answers kept, by the whole request. Only complete
// answers are kept: those that ended without an error and with a reason to
// finish, other than that they grew too long. What is above 1 MiB is not kept. A
// kept answer reports no tokens and no cost: it was paid for once.
func Cache(m runtime.Model, opts *CacheOptions) runtime.Model {
	c := &cache{over: over{m}, kept: make(map[key]*list.Element)}
	if opts != nil {
		c.opts = *opts
	}
	if c.opts.MaxEntries == 0 {
		c.opts.MaxEntries = 1000
	}
	return c
}

type key = [sha256.Size]byte

type cache struct {
	over
	opts CacheOptions

	mu     sync.Mutex // guards what follows
	kept   map[key]*list.Element
	recent list.List // of *keptAnswer, the last used first
}

type keptAnswer struct {
	key    key
	chunks []runtime.Chunk
	since  time.Time
}

func (c *cache) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		raw, err := canonical(req)
		if err != nil { // no JSON: the model says what is wrong
			c.Model.Generate(ctx, req)(yield)
			return
		}
		k := sha256.Sum256(raw)
		if chunks := c.find(k); chunks != nil {
			for i := range chunks {
				if !yield(copied(&chunks[i]), nil) {
					return
				}
			}
			return
		}
		var chunks []runtime.Chunk
		size, finish := 0, ""
		for chunk, err := range c.Model.Generate(ctx, req) {
			if chunk.Delay == nil && size <= maxKept {
				chunks, size = append(chunks, copied(&chunk)), size+chunkSize(&chunk)
			}
			if chunk.Finish != "" {
				finish = chunk.Finish
			}
			if !yield(chunk, err) || err != nil {
				return
			}
		}
		if ctx.Err() == nil && size <= maxKept && isComplete(finish) {
			c.keep(k, chunks)
		}
	}
}

// find returns the kept answer to a request, or nil.
func (c *cache) find(k key) []runtime.Chunk {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.kept[k]
	if !ok {
		return nil
	}
	answer := e.Value.(*keptAnswer)
	if c.opts.TTL > 0 && time.Since(answer.since) >= c.opts.TTL {
		c.drop(e)
		return nil
	}
	c.recent.MoveToFront(e)
	return answer.chunks
}

func (c *cache) keep(k key, chunks []runtime.Chunk) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.kept[k]; ok { // another call of the same request was faster
		c.drop(e)
	}
	c.kept[k] = c.recent.PushFront(&keptAnswer{k, chunks, time.Now()})
	for len(c.kept) > c.opts.MaxEntries {
		c.drop(c.recent.Back())
	}
}

func (c *cache) drop(e *list.Element) {
	delete(c.kept, e.Value.(*keptAnswer).key)
	c.recent.Remove(e)
}

// copied is a piece that nobody else holds, without what it cost.
func copied(c *runtime.Chunk) runtime.Chunk {
	out := *c
	if c.Call != nil {
		call := *c.Call
		out.Call = &call
	}
	if c.Usage != nil {
		out.Usage = new(runtime.Usage)
	}
	return out
}

func isComplete(finish string) bool {
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
