package wrap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/diff"

	"usher/runtime"
	"usher/tools/spend"
)

// again is what to do about a cassette that has entries: what is recorded is
// added at its end, and the first answer to a request is the one that is given.
const again = "remove the cassette (or record into another file) and record it again"

// ErrLeft says that a recorded answer stops where its consumer left it.
var ErrLeft = errors.New("the recorded answer stops here: its consumer left, or was stopped; " + again + " to the end")

// UnknownRequestError says that a request is not in a cassette, or not once
// more.
type UnknownRequestError struct {
	Entry int    // number of the nearest entry, from 1; 0 in an empty cassette
	Times int    // how often the cassette answers just this request; all have been used
	Diff  string // unified, from the nearest entry's request to the one that was asked; secrets scrubbed
}

func (e *UnknownRequestError) Error() string {
	switch {
	case e.Entry == 0:
		return "replay: the cassette is empty: record it again"
	case e.Times > 0:
		return fmt.Sprintf("replay: the cassette answers this request %d times (first in entry %d) and it was asked once more: %s", e.Times, e.Entry, again)
	}
	return fmt.Sprintf("replay: the cassette does not know this request; nearest is entry %d: ask what was recorded, or %s:\n%s", e.Entry, again, e.Diff)
}

// Temporary is false.
func (e *UnknownRequestError) Temporary() bool { return false }

// ReplayedError is an error that was recorded. It reads as it did, and is a
// [runtime.ErrWindow], a [spend.BudgetError] or another [runtime.Coded] where it was.
type ReplayedError struct {
	message   string
	class     string
	temporary bool
	after     time.Duration
	known     bool
	cause     error // what errors.Is and errors.As find beside it; may be nil
}

func (e *ReplayedError) Error() string { return e.message }

// ErrorType is the class that the recorded error had in traces.
func (e *ReplayedError) ErrorType() string { return e.class }

// Temporary is what the recorded error said.
func (e *ReplayedError) Temporary() bool { return e.temporary }

// RetryAfter is what the recorded error said.
func (e *ReplayedError) RetryAfter() (time.Duration, bool) { return e.after, e.known }

// Unwrap returns what the error was beside its text, or nil.
func (e *ReplayedError) Unwrap() error { return e.cause }

var (
	_ Temporary = (*ReplayedError)(nil)
	_ Delayer   = (*ReplayedError)(nil)
)

// replayedCode is a recorded [runtime.Coded] that is not this package's.
type replayedCode struct {
	message, code string
	details       json.RawMessage
}

func (e *replayedCode) Error() string { return e.message }
func (e *replayedCode) Code() string  { return e.code }

func (e *replayedCode) MarshalJSON() ([]byte, error) {
	if !json.Valid(e.details) {
		return []byte("{}"), nil // scrubbed, or never there
	}
	return e.details, nil
}

var _ runtime.Coded = (*replayedCode)(nil)

// Player is a model that answers from a cassette.
type Player struct {
	opts  *CassetteOptions
	known []*known          // in the cassette's order
	asked map[string]*known // by request

	mu   sync.Mutex // guards left, and played of each known request
	left int
}

// known is one distinct request and its answers in order.
type known struct {
	entry   int    // of the first answer
	request string // numbered, if ids count by their place
	lines   map[string]int
	answers []answer
	played  int
}

// answer is an episode with the ids in its request.
type answer struct {
	episode
	ids []string
}

var _ runtime.Model = (*Player)(nil)

// Replay reads a cassette and returns a model that gives its answers: the
// pieces as they came, the errors as they read. Equal requests get their
// answers in the cassette's order, each once. Any other request is refused
// with an *[UnknownRequestError], and never sent anywhere. Usage is what it
// was, and charged to nobody again.
func Replay(r io.Reader, opts *CassetteOptions) (*Player, error) {
	episodes, err := parseCassette(r)
	if err != nil {
		return nil, err
	}
	p := &Player{opts: opts, asked: make(map[string]*known), left: len(episodes)}
	for i := range episodes {
		e := &episodes[i]
		if e.Error != nil && e.Error.RetryAfter != "" {
			if _, err := time.ParseDuration(string(e.Error.RetryAfter)); err != nil {
				return nil, fmt.Errorf("read cassette: entry %d: retry_after: %w", i+1, err)
			}
		}
		text, ids := opts.comparable(&e.Request)
		k := p.asked[text]
		if k == nil {
			k = &known{entry: i + 1, request: text, lines: countLines(text)}
			p.known = append(p.known, k)
			p.asked[text] = k
		}
		k.answers = append(k.answers, answer{*e, ids})
	}
	return p, nil
}

// Left returns how many answers have not been given yet.
func (p *Player) Left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left
}

// Generate gives the next recorded answer to the request.
func (p *Player) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		e, err := p.next(ctx, req)
		if err != nil {
			yield(runtime.Chunk{}, err)
			return
		}
		for i := range e.Chunks {
			if ctx.Err() != nil {
				yield(runtime.Chunk{}, context.Cause(ctx))
				return
			}
			if !yield(e.Chunks[i].chunk(), nil) {
				return
			}
		}
		switch {
		case e.Error != nil:
			yield(runtime.Chunk{}, e.Error.replayed())
		case e.Left:
			yield(runtime.Chunk{}, ErrLeft)
		}
	}
}

func (e *recordedError) replayed() *ReplayedError {
	out := &ReplayedError{message: string(e.Message), class: string(e.Class), known: e.RetryAfter != ""}
	// An error that said only when to come back was worth coming back for.
	out.temporary = e.Temporary != nil && *e.Temporary || e.Temporary == nil && out.known
	out.after, _ = time.ParseDuration(string(e.RetryAfter)) // Replay has checked it
	var causes []error
	if e.Window {
		causes = append(causes, runtime.ErrWindow)
	}
	if e.Code != "" {
		causes = append(causes, e.coded())
	}
	out.cause = errors.Join(causes...)
	return out
}

// coded is the error that had the code: a budget's as it was, so that whoever
// tells a spent budget from a failure does so in a replay too.
func (e *recordedError) coded() runtime.Coded {
	for _, own := range []runtime.Coded{new(spend.BudgetError), new(spend.PriceError)} {
		if own.Code() == string(e.Code) && json.Unmarshal([]byte(e.Details), own) == nil {
			return own
		}
	}
	return &replayedCode{string(e.Message), string(e.Code), json.RawMessage(e.Details)}
}

func (p *Player) next(ctx context.Context, req *runtime.Request) (*episode, error) {
	asked := p.opts.recorded(req, p.opts.scrubber(ctx))
	text, ids := p.opts.comparable(&asked)
	k := p.asked[text]
	if k == nil {
		return nil, p.unknown(text)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if k.played == len(k.answers) {
		return nil, &UnknownRequestError{Entry: k.entry, Times: len(k.answers)}
	}
	k.played++
	p.left--
	next := &k.answers[k.played-1]
	return next.translated(next.ids, ids), nil
}

// unknown explains a request by the known one that shares the most lines with it.
func (p *Player) unknown(text string) error {
	if len(p.known) == 0 {
		return &UnknownRequestError{}
	}
	asked := countLines(text)
	var nearest *known
	best := -1.0
	for _, k := range p.known {
		if l := likeness(asked, k.lines); l > best {
			nearest, best = k, l
		}
	}
	recorded := fmt.Sprintf("recorded (entry %d)", nearest.entry)
	d := string(diff.Diff(recorded, []byte(readable(nearest.request)), "asked", []byte(readable(text))))
	_, d, _ = strings.Cut(d, "\n") // the line that repeats the command
	return &UnknownRequestError{Entry: nearest.entry, Diff: cutDiff(d)}
}

// maxDiff keeps an error readable where a request has little in common with any.
const maxDiff = 60

func cutDiff(d string) string {
	lines := strings.SplitAfter(strings.TrimSuffix(d, "\n"), "\n")
	if len(lines) <= maxDiff {
		return strings.Join(lines, "")
	}
	return strings.Join(lines[:maxDiff], "") + fmt.Sprintf("[%d more lines of difference]", len(lines)-maxDiff)
}

func countLines(text string) map[string]int {
	lines := make(map[string]int)
	for l := range strings.Lines(text) {
		lines[l]++
	}
	return lines
}

// likeness is the share of lines that two texts have in common.
func likeness(a, b map[string]int) float64 {
	shared, all := 0, 0
	for l, n := range a {
		shared += min(n, b[l])
		all += n
	}
	for _, n := range b {
		all += n
	}
	if all == 0 {
		return 0
	}
	return 2 * float64(shared) / float64(all)
}
