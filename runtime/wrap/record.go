package wrap

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"

	"usher/caps/value"
	"usher/runtime"
	"usher/tools/fault"
)

// Record returns m with every request and its answer written to w, in one
// Write each: a line of JSON, in the order in which the answers ended. What has
// the form of a key, a token or an Authorization header is left out, and so is
// what secrets returns, which is asked anew for each request; nil returns none.
// An answer that cannot be written ends with an error, and one that its consumer
// left, or whose context ended, is not written.
//
// A line is of no day and place: the date and the names of the venue and the
// model that [prompt.System] writes are left out.
func Record(m runtime.Model, w io.Writer, secrets func(context.Context) []string) runtime.Model {
	return &recorder{over: over{m}, secrets: secrets, w: w}
}

type recorder struct {
	over
	secrets func(context.Context) []string

	mu sync.Mutex // guards w
	w  io.Writer
}

var _ runtime.Counter = (*recorder)(nil)

var errNoCount = errors.New("a recording counts no tokens, as its replay cannot")

// CountTokens keeps the recorded model from counting: a conversation that was
// shortened by a count would be shortened elsewhere in the replay.
func (r *recorder) CountTokens(context.Context, *runtime.Request) (int, error) {
	return 0, errNoCount
}

func (r *recorder) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		scrub := scrubber(ctx, r.secrets)
		var e entry
		var failed error
		if e.Request, failed = comparable(req, scrub); failed != nil {
			yield(runtime.Chunk{}, fmt.Errorf("write cassette: %w", failed))
			return
		}
		var got recording
		for chunk, err := range r.Model.Generate(ctx, req) {
			if failed = err; failed != nil {
				break
			}
			got.add(&chunk)
			if !yield(chunk, nil) {
				return
			}
		}
		if e.Chunks = got.chunks(); ctx.Err() == nil {
			if failed != nil {
				e.Error = failureOf(failed)
			}
			failed = errors.Join(failed, r.write(&e, scrub))
		}
		if failed != nil {
			yield(runtime.Chunk{}, failed)
		}
	}
}

func (r *recorder) write(e *entry, scrub func(string) string) error {
	scrubbed, err := e.rewritten(scrub)
	var line []byte
	if err == nil {
		line, err = value.Encode(entry{e.Request, scrubbed})
	}
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		_, err = r.w.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write cassette: %w", err)
	}
	return nil
}

// recording is an answer that is put together from its pieces. Waits are no part
// of it.
type recording struct {
	text, reasoning string
	calls           []runtime.CallDelta
	last            runtime.Chunk // with usage, finish and model
}

func (a *recording) add(c *runtime.Chunk) {
	a.text += c.Text
	a.reasoning += c.Reasoning
	if c.Call != nil {
		i := slices.IndexFunc(a.calls, func(other runtime.CallDelta) bool { return other.Index == c.Call.Index })
		if i < 0 {
			i = len(a.calls)
			a.calls = append(a.calls, runtime.CallDelta{Index: c.Call.Index})
		}
		call := &a.calls[i]
		call.ID, call.Name, call.Arguments = call.ID+c.Call.ID, call.Name+c.Call.Name, call.Arguments+c.Call.Arguments
	}
	if c.Usage != nil {
		used := *c.Usage
		a.last.Usage = &used
	}
	a.last.Finish, a.last.Model = cmp.Or(c.Finish, a.last.Finish), cmp.Or(c.Model, a.last.Model)
}

func (a *recording) chunks() (out []runtime.Chunk) {
	if a.reasoning != "" {
		out = append(out, runtime.Chunk{Reasoning: a.reasoning})
	}
	if a.text != "" {
		out = append(out, runtime.Chunk{Text: a.text})
	}
	for i := range a.calls {
		out = append(out, runtime.Chunk{Call: &a.calls[i]})
	}
	if a.last != (runtime.Chunk{}) {
		out = append(out, a.last)
	}
	return out
}

func failureOf(err error) *failure {
	out := &failure{Message: err.Error(), Code: fault.Of(err)}
	if errors.Is(err, runtime.ErrWindow) {
		out.Code = fault.Window
	}
	if detailed, ok := errors.AsType[fault.Detailed](err); ok {
		out.Details, _ = json.Marshal(detailed.Details()) // without them the code is still told
	}
	var passing temporary
	out.Temporary = errors.As(err, &passing) && passing.Temporary()
	return out
}
