// Package wrap has Models over a Model: each adds one thing to the model that
// it is given, and is a [runtime.Model] itself, so that they stack in any
// order. Programs call them by name ([Retry], [Fallback], [Limit], [Timeout],
// [Meter], [Cache], [Record]; [Replay] stands in for a model);
// configurations have them through [Settings.Compose], which states the one order
// that it stacks them in.
//
// What a call costs stands on the usage that passes the metered model, which
// knows the [spend.Price]; budgets charge it, and whoever shows it reads it there.
//
// Two rules hold throughout. Nothing is tried again or elsewhere once the
// consumer could have acted on a part of the answer: text, reasoning, a piece
// of a tool call, a reason to finish. And a spent budget or a refused replay
// is final: no wrapper goes round it.
package wrap

import (
	"context"
	"errors"
	"iter"
	"time"

	"usher/runtime"
)

// delayer is what an error implements that knows when to try again, such as a
// provider's answer with a Retry-After header.
type delayer interface {
	RetryAfter() (wait time.Duration, known bool)
}

// temporary is what an error implements that knows whether the same request
// could succeed later.
type temporary interface {
	Temporary() bool
}

// over is a Model over another, which [runtime.As] finds below it.
type over struct {
	runtime.Model
	generate generate
}

// generate is [runtime.Model.Generate], with the consumer as a function.
type generate func(ctx context.Context, req *runtime.Request, yield func(runtime.Chunk, error) bool)

var _ runtime.Wrapper = (*over)(nil)

// Unwrap returns the model below.
func (o *over) Unwrap() runtime.Model { return o.Model }

func (o *over) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) { o.generate(ctx, req, yield) }
}

// final says that err is a bound of the caller's and not a failure of a model.
func final(err error) bool {
	refused, ok := errors.AsType[runtime.NoCallError](err)
	return ok && refused.IsNoCall()
}

// mayAct says that the consumer of c could have acted on it.
func mayAct(c *runtime.Chunk) bool {
	return c.Text != "" || c.Reasoning != "" || c.Call != nil || c.Finish != ""
}

// tries passes the answers of several calls on as one.
type tries struct {
	yield  func(runtime.Chunk, error) bool
	before runtime.Usage // of the calls that failed: a total that forgot them would be too low
}

// pass makes one call. It returns the call's error if nothing of the answer
// could have been acted on, so that another call may follow; nil means that
// the sequence has ended.
func (t *tries) pass(ctx context.Context, m runtime.Model, req *runtime.Request) error {
	var last runtime.Usage
	begun := false
	for chunk, err := range m.Generate(ctx, req) {
		if err != nil {
			if begun {
				t.yield(chunk, err)
				return nil
			}
			t.before = t.before.Plus(last)
			return err
		}
		begun = begun || mayAct(&chunk)
		if chunk.Usage != nil {
			last = *chunk.Usage
			total := t.before.Plus(last)
			chunk.Usage = &total
		}
		if !t.yield(chunk, nil) {
			return nil
		}
	}
	return nil
}
