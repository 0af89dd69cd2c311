package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"

	"usher/caps"
	"usher/caps/value"
	"usher/runtime/telemetry"
	"usher/tools"
)

// streams is where a command reads and writes.
type streams struct {
	place
	program *Program
	in      io.Reader
	out     io.Writer
	err     io.Writer
	paint   paint // for out
	notes   paint // for err
	asJSON  bool  // the command was called with --json

	interrupts *interrupts
	telemetry  telemetry.Options // of the commands that run turns; see observe
}

func (p *Program) streams() *streams {
	s := &streams{place: p.place, program: p}
	s.in, s.out, s.err = cmp.Or[io.Reader](p.Stdin, os.Stdin), cmp.Or[io.Writer](p.Stdout, os.Stdout), cmp.Or[io.Writer](p.Stderr, os.Stderr)
	s.paint, s.notes = s.paintFor(s.out), s.paintFor(s.err)
	return s
}

// interactive reports whether a person types the input.
func (s *streams) interactive() bool { return terminal(s.in) != nil }

// argument returns text itself, or the content of the file that "@FILE" names.
func (p place) argument(text string) (string, error) {
	name, isFile := strings.CutPrefix(text, "@")
	if !isFile {
		return text, nil
	}
	raw, err := p.readFile(name)
	if err != nil {
		return "", misuse{err}
	}
	return string(raw), nil
}

// capabilities are those that were typed, or that stand in the file of "@FILE".
func (p place) capabilities(text string) (set caps.Set, err error) {
	if text, err = p.argument(text); err != nil {
		return set, err
	}
	if set, err = caps.ParseSet([]byte(text)); err != nil {
		return set, misuse{err}
	}
	return set, nil
}

// object is the JSON object that was typed, or that stands in the file of "@FILE".
func (p place) object(text string) (json.RawMessage, error) {
	text, err := p.argument(text)
	if err != nil {
		return nil, err
	}
	return json.RawMessage(text), checkObject([]byte(text))
}

// source opens a file to read, or standard input for "-".
func (s *streams) source(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(s.in), nil
	}
	if at, err := s.stat(name); err == nil && at.IsDir() {
		return nil, misusef("%s is a folder: name a file in it", name)
	}
	f, err := s.open(name)
	if err != nil {
		return nil, misuse{err}
	}
	return f, nil
}

// output has write write to a new file with that mode, or to standard output for "-". Of what
// failed no half is left.
func (s *streams) output(name string, mode fs.FileMode, write func(io.Writer) error) error {
	if name == "-" {
		return write(s.out)
	}
	f, err := s.create(name, mode)
	if errors.Is(err, fs.ErrExist) {
		return misusef("%s is there already: name a new file", name)
	}
	if err != nil {
		return misuse{err}
	}
	if err := cmp.Or(write(f), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// fail tells an error and returns the exit status that it means.
func (s *streams) fail(err error) int {
	if c := s.program.client; c != nil && deadStream(err) != "" { // which ends a process of its own without a word
		c.broken = deadStream(err)
		return ExitFailed
	}
	if k := s.upVenue(); k != nil && k.stopping.Load() && errors.Is(err, errInterrupted) {
		err = fmt.Errorf("%w: the venue was stopped", err)
	}
	if !errors.Is(err, errQuiet) {
		s.tell(err)
	}
	if _, misused := errors.AsType[misuse](err); misused {
		return ExitMisuse
	}
	return ExitFailed
}

// tell prints an error, which may repeat what a model or a tool said: in a sentence, or for a
// program as the line of JSON that models and callers of a port are told, see [tools.Explain].
func (s *streams) tell(err error) {
	err = s.advise(err)
	if s.asJSON {
		fmt.Fprintln(s.err, s.notes.safeJSON(string(tools.Explain(err))))
		return
	}
	fmt.Fprintf(s.err, "%s %s\n", s.notes.bad("usher:"), s.notes.safe(err.Error()))
}

// warn prints what a person should know of the venue.
func (s *streams) warn(text string) {
	fmt.Fprintf(s.err, "%s %s\n", s.notes.warn("note:"), s.notes.safe(text))
}

// report prints what a command did that is not its answer.
func (s *streams) report(format string, args ...any) {
	fmt.Fprintf(s.err, "%s %s\n", s.notes.good("✓"), s.notes.safe(fmt.Sprintf(format, args...)))
}

// note prints a quiet line, over what a terminal may have echoed of keys that
// were pressed meanwhile.
func (s *streams) note(text string) {
	if s.notes.live() {
		fmt.Fprint(s.err, "\r\x1b[K")
	}
	fmt.Fprintln(s.err, s.notes.dim(s.notes.safe(text)))
}

// answer prints what came of a command: as JSON, or as its text, which is ours or
// safe already.
func (s *streams) answer(asJSON bool, v any, text string) error {
	if asJSON {
		return s.printJSON(v)
	}
	return s.print(text)
}

// printList prints a table with a row for each of the entries, or these as JSON; of none, a note says so.
func printList[T any](s *streams, asJSON bool, entries []T, none string, header []string, row func(*T) []string) error {
	rows := [][]string{header}
	for i := range entries {
		rows = append(rows, row(&entries[i]))
	}
	if len(entries) == 0 && !asJSON {
		s.note(none)
		return nil
	}
	return s.answer(asJSON, entries, s.columns(rows))
}

// print writes a text, which is ours or safe already.
func (s *streams) print(text string) error {
	_, err := io.WriteString(s.out, text)
	return err
}

// printJSON writes a value as one readable JSON document.
func (s *streams) printJSON(v any) error {
	text, err := document(v)
	if err == nil {
		_, err = io.WriteString(s.out, s.paint.safeJSON(text))
	}
	return err
}

// printLine writes a value as one line of JSON.
func (s *streams) printLine(v any) error {
	raw, err := value.Encode(v)
	if err == nil {
		_, err = io.WriteString(s.out, s.paint.safeJSON(string(raw))+"\n")
	}
	return err
}

// document is JSON as people read it.
func document(v any) (string, error) {
	raw, err := value.Encode(v)
	var text bytes.Buffer
	_ = json.Indent(&text, raw, "", "  ") // it is JSON
	return text.String() + "\n", err
}

// table writes aligned rows, the cells without colour.
func (s *streams) table(rows [][]string) error { return s.print(s.columns(rows)) }

// columns are aligned rows, the cells without colour.
func (s *streams) columns(rows [][]string) string {
	for _, row := range rows {
		for i, cell := range row {
			row[i] = s.paint.safe(inCell.Replace(cell))
		}
	}
	return align(rows)
}

// progress returns what shows how far a long work is, in one line of a terminal, and what removes
// that line.
func (s *streams) progress() (tell func(text string), done func()) {
	if !s.notes.live() {
		return nil, func() {}
	}
	shown := false
	return func(text string) {
			shown = true
			fmt.Fprint(s.err, "\r\x1b[K"+s.notes.dim(s.notes.safe(text)))
		}, func() {
			if shown {
				fmt.Fprint(s.err, "\r\x1b[K")
			}
		}
}

// trouble is what the venue says of itself in the background, such as that a
// checkpoint cannot be delivered: a note for each thing, however often it is tried.
type trouble struct {
	*streams
	told sync.Map
}

var _ slog.Handler = (*trouble)(nil)

func (s *streams) log() *trouble { return &trouble{streams: s} }

// Enabled leaves out what nobody needs to act on.
func (*trouble) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// Handle prints the record, unless it was told with other numbers or reasons. A
// turn that fails has no error here: the command tells it.
func (t *trouble) Handle(_ context.Context, r slog.Record) error {
	what, why := r.Message, ""
	for a := range r.Attrs {
		switch {
		case a.Key == "error":
			why = ": " + strings.ReplaceAll(a.Value.String(), "\n", " ")
		case a.Value.Kind() == slog.KindString && !strings.HasSuffix(a.Key, "_id"): // not of a trace
			what += fmt.Sprintf(", %s %s", a.Key, a.Value)
		}
	}
	if _, told := t.told.LoadOrStore(what, true); !told && (why != "" || r.Level >= slog.LevelError) {
		t.warn(what + why)
	}
	return nil
}

// WithAttrs and WithGroup change nothing: nobody here uses them.
func (t *trouble) WithAttrs([]slog.Attr) slog.Handler { return t }

func (t *trouble) WithGroup(string) slog.Handler { return t }
