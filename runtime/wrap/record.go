package wrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"usher/caps/value"
	"usher/runtime"
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
	r := &recorder{over{m, nil}, secrets, sync.Mutex{}, w}
	r.generate = r.record
	return r
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

func (r *recorder) record(ctx context.Context, req *runtime.Request, yield func(runtime.Chunk, error) bool) {
	scrub := scrubber(ctx, r.secrets)
	var e entry
	var failed error
	if e.Request, failed = comparable(req, scrub); failed != nil {
		yield(runtime.Chunk{}, fmt.Errorf("write cassette: %w", failed))
		return
	}
	var got answerDraft
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
		if err := r.write(&e, scrub); err != nil {
			failed = errors.Join(failed, fmt.Errorf("write cassette: %w", err))
		}
	}
	if failed != nil {
		yield(runtime.Chunk{}, failed)
	}
}

func (r *recorder) write(e *entry, scrub func(string) string) error {
	scrubbed, err := e.rewrite(scrub)
	if err != nil {
		return err
	}
	line, err := value.Encode(entry{e.Request, scrubbed})
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err = r.w.Write(append(line, '\n'))
	return err
}

// answerDraft is an answer that is put together from its pieces. Waits are no part
// of it.
type answerDraft struct {
	text, reasoning strings.Builder
	calls           []callRecord
	last            runtime.Chunk // with usage, finish and model
	size            int           // bytes
}

type callRecord struct {
	index     int
	id, name  string
	arguments []byte
}

func (a *answerDraft) add(c *runtime.Chunk) {
	a.text.WriteString(c.Text)
	a.reasoning.WriteString(c.Reasoning)
	a.size += len(c.Text) + len(c.Reasoning) + len(c.Finish) + len(c.Model) + 1 // an empty piece takes work, too
	if c.Call != nil {
		i := slices.IndexFunc(a.calls, func(other callRecord) bool { return other.index == c.Call.Index })
		if i < 0 {
			i = len(a.calls)
			a.calls = append(a.calls, callRecord{index: c.Call.Index})
		}
		call := &a.calls[i]
		call.id, call.name = call.id+c.Call.ID, call.name+c.Call.Name
		call.arguments = append(call.arguments, c.Call.Arguments...)
		a.size += len(c.Call.ID) + len(c.Call.Name) + len(c.Call.Arguments)
	}
	if c.Usage != nil {
		used := *c.Usage
		a.last.Usage = &used
	}
	a.last.Finish, a.last.Model = cmp.Or(c.Finish, a.last.Finish), cmp.Or(c.Model, a.last.Model)
}

// chunks are the answer in as few pieces as it can have, which nobody else holds.
func (a *answerDraft) chunks() (out []runtime.Chunk) {
	if a.reasoning.Len() > 0 {
		out = append(out, runtime.Chunk{Reasoning: a.reasoning.String()})
	}
	if a.text.Len() > 0 {
		out = append(out, runtime.Chunk{Text: a.text.String()})
	}
	for i := range a.calls {
		c := &a.calls[i]
		out = append(out, runtime.Chunk{Call: &runtime.CallDelta{Index: c.index, ID: c.id, Name: c.name, Arguments: string(c.arguments)}})
	}
	if last := a.last; last != (runtime.Chunk{}) {
		if last.Usage != nil {
			used := *last.Usage
			last.Usage = &used
		}
		out = append(out, last)
	}
	return out
}
