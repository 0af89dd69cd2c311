package wrap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/diff"

	"usher/runtime"
	"usher/tools/fault"
	"usher/tools/spend"
)

// Player is a model that answers from a cassette.
type Player struct {
	file    string // that was not there when the player was made; "" where there is none
	secrets func(context.Context) []string

	mu      sync.Mutex // guards what follows
	entries []*known
}

// known is an entry, as it is compared.
type known struct {
	entry
	request string // numbered
	ids     []string
	played  bool
}

var _ runtime.Model = (*Player)(nil)

// Replay reads a cassette that [Record] wrote and returns a model that gives its
// answers, and its errors as they read. Equal requests get their answers in the
// cassette's order, each once; ids of jobs and sessions (ULIDs), which differ
// from run to run, are the same where they stand in the same places. Any other
// request is refused with an *[UnknownRequestError], and never sent anywhere.
// Usage is what it was, and charged to nobody again. secrets are those of Record.
func Replay(r io.Reader, secrets func(context.Context) []string) (*Player, error) {
	entries, err := readCassette(r)
	if err != nil {
		return nil, err
	}
	p := &Player{secrets: secrets}
	for _, e := range entries {
		k := &known{entry: e}
		k.request, k.ids = numbered(e.Request)
		p.entries = append(p.entries, k)
	}
	return p, nil
}

// replayFile is Replay of a file, which may be there only later.
func replayFile(name string, secrets func(context.Context) []string) (*Player, error) {
	p := &Player{file: name, secrets: secrets}
	if err := p.open(); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return p, nil
}

// open reads the player's file, if that is to be done yet.
func (p *Player) open() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file == "" {
		return nil
	}
	raw, err := os.ReadFile(p.file)
	if err != nil {
		return &unrecordedError{p.file, err}
	}
	from, err := Replay(bytes.NewReader(raw), nil)
	if err != nil {
		return err
	}
	p.file, p.entries = "", from.entries
	return nil
}

// Unrecorded returns why a model of [Compose] cannot replay yet, where that is
// because its cassette is not there, and nil of any other model.
func Unrecorded(m runtime.Model) error {
	if p, ok := runtime.As[*Player](m); ok {
		return p.open()
	}
	return nil
}

// Generate gives the next recorded answer to the request.
func (p *Player) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		a, err := p.next(ctx, req)
		if err != nil {
			yield(runtime.Chunk{}, err)
			return
		}
		for _, chunk := range a.Chunks {
			if ctx.Err() != nil {
				break
			}
			if !yield(chunk, nil) {
				return
			}
		}
		switch {
		case ctx.Err() != nil:
			yield(runtime.Chunk{}, context.Cause(ctx))
		case a.Error != nil:
			yield(runtime.Chunk{}, &ReplayedError{*a.Error})
		case a.Left:
			yield(runtime.Chunk{}, ErrLeft)
		}
	}
}

func (p *Player) next(ctx context.Context, req *runtime.Request) (answer, error) {
	if err := p.open(); err != nil {
		return answer{}, err
	}
	asked, err := comparable(req, scrubberOf(ctx, p.secrets))
	if err != nil {
		return answer{}, fmt.Errorf("replay: %w", err)
	}
	text, ids := numbered(asked)
	p.mu.Lock()
	defer p.mu.Unlock()
	nearest, first, times := len(p.entries)-1, 0, 0
	for i, k := range p.entries {
		if k.request != text {
			if !k.played {
				nearest = min(nearest, i)
			}
			continue
		}
		if !k.played {
			k.played = true
			return k.in(ids)
		}
		if times++; times == 1 {
			first = i + 1
		}
	}
	switch {
	case times > 0:
		return answer{}, &UnknownRequestError{Entry: first, Times: times}
	case nearest < 0:
		return answer{}, &UnknownRequestError{}
	}
	return answer{}, &UnknownRequestError{Entry: nearest + 1, Diff: difference(nearest+1, p.entries[nearest].Request, asked)}
}

// in is the answer with the ids of the run that it is played in.
func (k *known) in(ids []string) (answer, error) {
	pairs := make([]string, 0, 2*len(ids))
	for i := range ids { // equal requests have as many
		pairs = append(pairs, k.ids[i], ids[i])
	}
	return k.rewritten(strings.NewReplacer(pairs...).Replace)
}

// difference shows what was asked beside what was recorded, a line of text on a
// line of its own.
func difference(entry int, recorded, asked []byte) string {
	readable := func(raw []byte) []byte {
		var b bytes.Buffer
		_ = json.Indent(&b, raw, "", "  ") // of JSON
		return []byte(strings.ReplaceAll(b.String(), `\n`, "\n    ") + "\n")
	}
	d := string(diff.Diff(fmt.Sprintf("recorded (entry %d)", entry), readable(recorded), "asked", readable(asked)))
	_, d, _ = strings.Cut(d, "\n") // the line that repeats the command
	const most = 60                // keeps an error readable where a request has little in common with any
	lines := strings.SplitAfter(strings.TrimSuffix(d, "\n"), "\n")
	if len(lines) <= most {
		return strings.Join(lines, "")
	}
	return strings.Join(lines[:most], "") + fmt.Sprintf("[%d more lines of difference]", len(lines)-most)
}

// again is what to do about a cassette that has entries: what is recorded is
// added at its end, and the first answer to a request is the one that is given.
const again = "remove the cassette (or record into another file) and record it again"

// ErrLeft says that a recorded answer stops where its consumer left it.
var ErrLeft = fault.New(fault.NotRecorded, "the recorded answer stops here: its consumer left, or was stopped; "+again+" to the end")

// UnknownRequestError says that a request is not in a cassette, or not once
// more.
type UnknownRequestError struct {
	Entry int    // number of the first entry that was not asked for yet, from 1; 0 in an empty cassette
	Times int    // how often the cassette answers just this request; all have been used
	Diff  string // unified, from that entry's request to the one that was asked; secrets scrubbed
}

func (e *UnknownRequestError) Error() string {
	switch {
	case e.Entry == 0:
		return "replay: the cassette is empty: record it again"
	case e.Times > 0:
		return fmt.Sprintf("replay: the cassette answers this request %d times (first in entry %d) and it was asked once more: %s", e.Times, e.Entry, again)
	}
	return fmt.Sprintf("replay: the cassette does not know this request; next is entry %d: ask what was recorded, or %s:\n%s", e.Entry, again, e.Diff)
}

// Unasked is true: a replay never leads to a model that is asked.
func (e *UnknownRequestError) Unasked() bool { return true }

// Code is [fault.NotRecorded].
func (e *UnknownRequestError) Code() fault.Code { return fault.NotRecorded }

type unrecordedError struct {
	file  string
	cause error
}

func (e *unrecordedError) Error() string {
	return fmt.Sprintf("replay %s: %v; record it first, with record in place of replay", e.file, e.cause)
}

func (e *unrecordedError) Unwrap() error    { return e.cause }
func (e *unrecordedError) Unasked() bool    { return true }
func (e *unrecordedError) Code() fault.Code { return fault.NotRecorded }

// ReplayedError is an error that was recorded. It reads as it did, has the code
// that it had, and is a [runtime.ErrWindow] or a [spend.BudgetError] where it was.
type ReplayedError struct{ failure failure }

var (
	_ Temporary      = (*ReplayedError)(nil)
	_ Delayer        = (*ReplayedError)(nil)
	_ fault.Detailed = (*ReplayedError)(nil)
)

func (e *ReplayedError) Error() string { return e.failure.Message }

// Code is what the recorded error had.
func (e *ReplayedError) Code() fault.Code { return e.failure.Code }

// Details are what the recorded error had.
func (e *ReplayedError) Details() any {
	if e.failure.Details == nil {
		return nil
	}
	return e.failure.Details
}

// Temporary is what the recorded error said.
func (e *ReplayedError) Temporary() bool { return e.failure.Temporary }

// RetryAfter is what the recorded error said.
func (e *ReplayedError) RetryAfter() (time.Duration, bool) {
	if e.failure.RetryAfter == nil {
		return 0, false
	}
	return *e.failure.RetryAfter, true
}

// Unwrap returns what the error was beside its text, or nil.
func (e *ReplayedError) Unwrap() error {
	switch e.failure.Code {
	case fault.Window:
		return runtime.ErrWindow
	case fault.BudgetSpent:
		spent := new(spend.BudgetError)
		if json.Unmarshal(e.failure.Details, spent) == nil {
			return spent
		}
	case fault.NoPrice:
		unpriced := new(spend.PriceError)
		if json.Unmarshal(e.failure.Details, unpriced) == nil {
			return unpriced
		}
	}
	return nil
}
