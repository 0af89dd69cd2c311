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

	"github.com/rogpeppe/go-internal/diff"

	"usher/runtime"
	"usher/runtime/endpoint"
	"usher/tools/fault"
)

// player is a model that answers from a cassette.
type player struct {
	file    string // that was not there when the player was made; "" where there is none
	secrets func(context.Context) []string

	mu      sync.Mutex // guards what follows
	entries []*cassetteEntry
}

// cassetteEntry is an entry, as it is compared.
type cassetteEntry struct {
	entry
	request string // numbered
	ids     []string
	played  bool
}

// Replay reads a cassette that [Record] wrote and returns a model that gives its
// answers, and its errors as they read. Equal requests get their answers in the
// cassette's order, each once; ids of jobs and sessions (ULIDs), which differ
// from run to run, are the same where they stand in the same places. Any other
// request is refused with [fault.NotRecorded], and never sent anywhere. Usage is
// what it was, and charged to nobody again. secrets are those of Record.
func Replay(r io.Reader, secrets func(context.Context) []string) (runtime.Model, error) {
	p := &player{secrets: secrets}
	return p, p.read(r)
}

func (p *player) read(r io.Reader) error {
	entries, err := readCassette(r)
	for _, e := range entries {
		k := &cassetteEntry{entry: e}
		k.request, k.ids = numberIDs(e.Request)
		p.entries = append(p.entries, k)
	}
	return err
}

// replayFile is Replay of a file, which may be there only later.
func replayFile(name string, secrets func(context.Context) []string) (*player, error) {
	p := &player{file: name, secrets: secrets}
	if err := p.open(); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return p, nil
}

// open reads the player's file, if that is to be done yet.
func (p *player) open() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file == "" {
		return nil
	}
	raw, err := os.ReadFile(p.file)
	if err != nil {
		return &refusal{fmt.Sprintf("replay %s: %v; record it first, with record in place of replay", p.file, err), err}
	}
	if err := p.read(bytes.NewReader(raw)); err != nil {
		return err
	}
	p.file = ""
	return nil
}

// Ready says that the cassette is not there yet.
func (p *player) Ready(context.Context) error {
	if err := p.open(); err != nil {
		return &runtime.SettingError{Setting: settingReplay, Err: &endpoint.AbsentError{Err: err}}
	}
	return nil
}

// Generate gives the next recorded answer to the request.
func (p *player) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
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
			yield(runtime.Chunk{}, a.Error)
		}
	}
}

func (p *player) next(ctx context.Context, req *runtime.Request) (answer, error) {
	if err := p.open(); err != nil {
		return answer{}, err
	}
	asked, err := comparable(req, scrubber(ctx, p.secrets))
	if err != nil {
		return answer{}, fmt.Errorf("replay: %w", err)
	}
	text, ids := numberIDs(asked)
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
	// What is recorded is added at the end, and the first answer is given.
	const again = "remove the cassette (or record into another file) and record it again"
	switch {
	case times > 0:
		return answer{}, refuse("the cassette answers this request %d times (first in entry %d) and it was asked once more: %s", times, first, again)
	case nearest < 0:
		return answer{}, refuse("the cassette is empty: record it again")
	}
	return answer{}, refuse("the cassette does not know this request; next is entry %d: ask what was recorded, or %s:\n%s",
		nearest+1, again, difference(nearest+1, p.entries[nearest].Request, asked))
}

// in is the answer with the ids of the run that it is played in.
func (k *cassetteEntry) in(ids []string) (answer, error) {
	pairs := make([]string, 0, 2*len(ids))
	for i := range ids { // equal requests have as many
		pairs = append(pairs, k.ids[i], ids[i])
	}
	return k.rewrite(strings.NewReplacer(pairs...).Replace)
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

// refusal says that a request is not in a cassette, or not once more, or that
// there is none yet. It never leads to a model that is asked.
type refusal struct {
	text  string
	cause error // may be nil
}

func refuse(why string, args ...any) error {
	return &refusal{"replay: " + fmt.Sprintf(why, args...), nil}
}

func (e *refusal) Error() string    { return e.text }
func (e *refusal) Unwrap() error    { return e.cause }
func (e *refusal) IsNoCall() bool   { return true }
func (e *refusal) Code() fault.Code { return fault.NotRecorded }
