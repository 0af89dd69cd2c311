package wrap

import (
	"cmp"
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"usher/runtime"
)

// CacheOptions adjusts [Cache]. The zero value is valid.
type CacheOptions struct {
	MaxEntries int           `json:"max_entries" jsonschema:"Answers that are kept, the longest unused go first. Default: 1000."`
	TTL        time.Duration `json:"ttl" example:"30s" jsonschema:"How long an answer is kept. Default: as long as there is room."`
}

// maxKept bounds an answer that is kept: bytes.
const maxKept = 1 << 20

// Cache returns m with its answers kept, by the whole request and whose turn it is of
// ([runtime.Request.Asker]): nobody is told what another was answered, nor that anybody
// asked. Only complete
// answers are kept: those that ended without an error and with a reason to
// finish, other than that they grew too long. What is above 1 MiB is not kept. A
// kept answer comes in few pieces, and reports no tokens and no cost: it was paid
// for once.
func Cache(m runtime.Model, opts *CacheOptions) runtime.Model {
	c := &cache{kept: make(map[key]*cacheEntry)}
	if opts != nil {
		c.opts = *opts
	}
	c.opts.MaxEntries = cmp.Or(c.opts.MaxEntries, 1000)
	return &over{m, func(ctx context.Context, req *runtime.Request, yield func(runtime.Chunk, error) bool) {
		raw, err := canonical(req)
		if err != nil { // no JSON: the model says what is wrong
			m.Generate(ctx, req)(yield)
			return
		}
		k := sha256.Sum256(append(raw, req.Asker()...)) // behind a whole value of JSON
		if kept := c.find(k); kept != nil {
			for _, chunk := range kept.chunks() {
				if !yield(chunk, nil) {
					return
				}
			}
			return
		}
		got := new(answerDraft)
		for chunk, err := range m.Generate(ctx, req) {
			if got.size <= maxKept {
				got.add(&chunk)
			}
			if !yield(chunk, err) || err != nil {
				return
			}
		}
		if ctx.Err() == nil && got.size <= maxKept && isComplete(got.last.Finish) {
			c.keep(k, got)
		}
	}}
}

type key = [sha256.Size]byte

type cache struct {
	opts CacheOptions

	mu   sync.Mutex // guards what follows
	kept map[key]*cacheEntry
	uses int
}

type cacheEntry struct {
	*answerDraft
	since time.Time
	used  int // last, in the order of all uses
}

// find returns the kept answer to a request, or nil.
func (c *cache) find(k key) *answerDraft {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer, ok := c.kept[k]
	if !ok || c.opts.TTL > 0 && time.Since(answer.since) >= c.opts.TTL {
		delete(c.kept, k)
		return nil
	}
	c.uses++
	answer.used = c.uses
	return answer.answerDraft
}

func (c *cache) keep(k key, r *answerDraft) {
	if r.last.Usage != nil {
		r.last.Usage = new(runtime.Usage)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uses++
	c.kept[k] = &cacheEntry{r, time.Now(), c.uses}
	for len(c.kept) > c.opts.MaxEntries {
		oldest := k
		for other, answer := range c.kept {
			if answer.used < c.kept[oldest].used {
				oldest = other
			}
		}
		delete(c.kept, oldest)
	}
}

func isComplete(finish string) bool {
	switch finish {
	case "", "length", "max_tokens": // in the words of OpenAI's and Anthropic's interfaces
		return false
	}
	return true
}
