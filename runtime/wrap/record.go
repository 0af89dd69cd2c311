package wrap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"

	"usher/prompt"
	"usher/runtime"
	"usher/runtime/telemetry"
)

// CassetteOptions adjusts [Record] and [Replay]; both ends of one cassette
// need the same. The zero value is valid.
//
// Nothing of a request is left out of the comparison on its own account. A
// system message with today's date in it is refused tomorrow: take the date
// out with Normalise, as [Unset] does for those that agents get.
type CassetteOptions struct {
	// Secrets are replaced wherever they occur, beside everything that has the
	// form of a key, a token or an Authorization header.
	Secrets []string
	// Fresh returns more of them, asked anew for each request: keys change. Nil is none.
	Fresh func(context.Context) []string
	// FreshIDs takes the ids of jobs and sessions (ULIDs), which differ from run
	// to run, for the same where they stand in the same places. A replayed answer
	// that names one names the one of its own run.
	FreshIDs bool
	// Normalise changes the copy of a request that is written and compared; nil changes nothing.
	Normalise func(*runtime.Request)
}

// Unset is a Normalise that takes out the date and the names of the venue and the
// model which [prompt.System] writes.
func Unset(req *runtime.Request) { req.System = prompt.Unset(req.System) }

// recorded returns the request as it is written and compared.
func (o *CassetteOptions) recorded(req *runtime.Request, s scrubber) recordedRequest {
	if o != nil && o.Normalise != nil {
		req = clone(req)
		o.Normalise(req)
	}
	out := recordRequest(req)
	out.scrubWith(s)
	return out
}

// comparable is the request as it is compared, and the ids that were taken out.
func (o *CassetteOptions) comparable(r *recordedRequest) (text string, ids []string) {
	text = r.canonical()
	if o != nil && o.FreshIDs {
		return numbered(text)
	}
	return text, nil
}

// scrubber finds the secrets as they are now.
func (o *CassetteOptions) scrubber(ctx context.Context) scrubber {
	switch {
	case o == nil:
		return newScrubber(nil)
	case o.Fresh == nil:
		return newScrubber(o.Secrets)
	}
	return newScrubber(append(slices.Clip(o.Secrets), o.Fresh(ctx)...))
}

// Record returns m with every request and its answer written to w, in one
// Write each: YAML documents, with secrets scrubbed before anything is
// written. Entries stand in the order in which the answers ended. An answer
// that cannot be written ends with an error.
func Record(m runtime.Model, w io.Writer, opts *CassetteOptions) runtime.Model {
	return &recorder{model: m, opts: opts, w: w}
}

type recorder struct {
	model runtime.Model
	opts  *CassetteOptions

	mu sync.Mutex // guards w
	w  io.Writer
}

var (
	_ runtime.Model   = (*recorder)(nil)
	_ runtime.Wrapper = (*recorder)(nil)
	_ runtime.Counter = (*recorder)(nil)
)

func (r *recorder) Unwrap() runtime.Model { return r.model }

var errNoCount = errors.New("a recording counts no tokens, as its replay cannot")

// CountTokens keeps the recorded model from counting: a conversation that was
// shortened by a count would be shortened elsewhere in the replay.
func (r *recorder) CountTokens(context.Context, *runtime.Request) (int, error) {
	return 0, errNoCount
}

func (r *recorder) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		scrub := r.opts.scrubber(ctx)
		e := episode{Request: r.opts.recorded(req, scrub)}
		for chunk, err := range r.model.Generate(ctx, req) {
			if err != nil {
				e.Left = ctx.Err() != nil
				if !e.Left {
					e.Error = recordError(err)
				}
				if failed := r.write(&e, scrub); failed != nil {
					err = errors.Join(err, failed)
				}
				yield(chunk, err)
				return
			}
			e.Chunks = append(e.Chunks, recordChunk(&chunk))
			if !yield(chunk, nil) {
				e.Left = true
				_ = r.write(&e, scrub) // the consumer is gone; an entry that is missing is refused on replay
				return
			}
		}
		e.Left = ctx.Err() != nil
		if err := r.write(&e, scrub); err != nil {
			yield(runtime.Chunk{}, err)
		}
	}
}

func (r *recorder) write(e *episode, scrub scrubber) error {
	e.scrubWith(scrub)
	text, err := e.print()
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		_, err = io.WriteString(r.w, text)
	}
	if err != nil {
		return fmt.Errorf("write cassette: %w", err)
	}
	return nil
}

func recordError(err error) *recordedError {
	out := &recordedError{Message: exact(err.Error()), Window: errors.Is(err, runtime.ErrWindow), Class: exact(telemetry.ErrorClass(err))}
	var coded runtime.Coded
	if errors.As(err, &coded) {
		out.Code = exact(coded.Code())
		if details, err := json.Marshal(coded); err == nil {
			out.Details = exact(details)
		}
	}
	var temporary Temporary
	if errors.As(err, &temporary) {
		t := temporary.Temporary()
		out.Temporary = &t
	}
	var delayer Delayer
	if errors.As(err, &delayer) {
		if wait, known := delayer.RetryAfter(); known {
			out.RetryAfter = exact(wait.String())
		}
	}
	return out
}
