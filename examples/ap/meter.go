package ap

import (
	"context"
	"errors"
	"iter"
	"sync"

	"usher/runtime"
	"usher/tools/spend"
)

// used is what an agent used of the model. Some servers do not say what an
// answer took, and some prices are not known: then the sums are less than it
// was.
type used struct {
	Agent string `json:"agent"`
	Calls int    `json:"modelCalls"`
	runtime.Usage
	Uncounted int `json:"uncountedCalls,omitempty"` // calls without a count of tokens
	Unpriced  int `json:"unpricedCalls,omitempty"`  // calls whose cost is not known
}

func (u used) plus(v used) used {
	u.Calls, u.Usage = u.Calls+v.Calls, u.Plus(v.Usage)
	u.Uncounted, u.Unpriced = u.Uncounted+v.Uncounted, u.Unpriced+v.Unpriced
	return u
}

// meter adds up what one agent uses of the model, and asks it nothing more once
// it has failed for whomever.
type meter struct {
	plugged *plugged
	model   runtime.Model

	mu   sync.Mutex // guards used
	used used
}

var (
	_ runtime.Model   = (*meter)(nil)
	_ runtime.Wrapper = (*meter)(nil)
)

func (m *meter) Unwrap() runtime.Model { return m.model }

func (m *meter) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		if f := m.plugged.failed(); f != nil {
			yield(runtime.Chunk{}, f)
			return
		}
		var c count
		defer func() { m.add(&c) }()
		for chunk, err := range m.model.Generate(ctx, req) {
			c.see(&chunk, err)
			if err != nil && ctx.Err() == nil {
				m.plugged.fail(m.spent().Agent, err)
			}
			if chunk.Delay != nil {
				m.plugged.delayed(m.spent().Agent, chunk.Delay)
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// spent is what was used so far.
func (m *meter) spent() used {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}

func (m *meter) add(c *count) {
	if c.refused {
		return
	}
	one := used{Calls: 1, Usage: c.usage}
	if (c.passed || !c.failed) && c.usage.Input+c.usage.Output == 0 {
		one.Uncounted = 1
	}
	if one.Uncounted == 1 || c.usage.Input+c.usage.Output > 0 && c.usage.Cost == 0 && !m.plugged.priced {
		one.Unpriced = 1
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used = m.used.plus(one)
}

// count is what one request took.
type count struct {
	usage   runtime.Usage
	passed  bool // something of an answer came
	failed  bool
	refused bool // by a budget, so that nobody was asked
}

func (c *count) see(chunk *runtime.Chunk, err error) {
	if chunk.Usage != nil {
		c.usage = *chunk.Usage
	}
	c.passed = c.passed || chunk.Text != "" || chunk.Reasoning != "" || chunk.Call != nil
	if err != nil {
		_, spent := errors.AsType[*spend.BudgetError](err)
		c.failed, c.refused = true, spent && !c.passed
	}
}
