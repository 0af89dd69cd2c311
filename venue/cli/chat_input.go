package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/muesli/cancelreader"
	"golang.org/x/term"
)

// lines is where a person's messages come from.
type lines interface {
	// next reads a line. It returns io.EOF when the person leaves, and an
	// errCtrlC when they took the line back.
	next(prompt string) (string, error)
	// remember keeps a message, for the person to find it again.
	remember(message string) error
}

// errCtrlC is a line that was taken back, and an errTyped too where something
// stood in it.
var (
	errCtrlC = errors.New("taken back")
	errTyped = fmt.Errorf("%w after typing", errCtrlC)
)

// lines returns an editor where there is a screen to edit on.
func (c *chat) lines(in io.Reader, dir string) lines {
	screen := c.notes
	if !screen.live() {
		screen = c.paint
	}
	if !screen.live() {
		return newPlainLines(in, c.notes.tty)
	}
	past, err := openMemory(dir, c.inputLock())
	if err != nil {
		c.note("cannot read what you typed before: " + err.Error())
	}
	return &editor{tty: terminal(c.in), screen: screen, keys: keys{in: bufio.NewReader(in)}, past: past}
}

// maxLine bounds a line, in bytes.
const maxLine = 1 << 20

// plainLines reads what the terminal itself lets a person edit, and scripts.
type plainLines struct {
	*bufio.Scanner
	tty *os.File // for the prompt; nil is none
}

var _ lines = (*plainLines)(nil)

func newPlainLines(in io.Reader, tty *os.File) *plainLines {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, maxLine)
	return &plainLines{scanner, tty}
}

func (l *plainLines) next(prompt string) (string, error) {
	if l.tty != nil {
		fmt.Fprint(l.tty, prompt)
	}
	if l.Scan() {
		return l.Text(), nil
	}
	if err := l.Err(); err != nil {
		return "", err
	}
	return "", io.EOF
}

func (*plainLines) remember(string) error { return nil }

// editor lets a person edit a line, on a terminal.
type editor struct {
	tty    *os.File // the keys' own
	screen paint
	keys   keys
	past   *memory
}

var _ lines = (*editor)(nil)

// lineBreak stands for a line break within the one line that is edited.
const lineBreak = "⏎"

func (e *editor) next(prompt string) (line string, err error) {
	cooked, err := term.MakeRaw(int(e.tty.Fd()))
	if err != nil {
		return "", err
	}
	// While a turn runs the terminal draws as usual, and Ctrl-C is a signal.
	defer func() { err = errors.Join(err, term.Restore(int(e.tty.Fd()), cooked)) }()
	out := e.screen.tty
	t := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{&e.keys, out}, e.screen.bold(prompt))
	t.History = e.past
	t.SetBracketedPasteMode(true)
	defer t.SetBracketedPasteMode(false)
	if width, height, err := term.GetSize(int(out.Fd())); err == nil && width > 0 && height > 0 { // else as many as terminals have, 80
		_ = t.SetSize(width, height) // what cannot be drawn fails again below
	}
	e.keys.typed = false
	line, err = t.ReadLine()
	if err != nil && !errors.Is(err, term.ErrPasteIndicator) {
		fmt.Fprint(out, "\r\n")
		return "", err
	}
	return strings.ReplaceAll(line, lineBreak, "\n"), nil
}

func (e *editor) remember(message string) error { return e.past.add(message) }

// cancellable returns what in holds, and stops waiting for it when ctx ends.
func cancellable(ctx context.Context, in io.Reader) (r io.Reader, done func()) {
	f, ok := in.(*os.File)
	if !ok {
		return in, func() {}
	}
	reader, err := cancelreader.NewReader(f)
	if err != nil {
		return in, func() {} // a file on disk, which nobody waits for
	}
	cancelled := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(cancelled)
		reader.Cancel()
	})
	return reader, func() {
		if !stop() {
			<-cancelled
		}
		reader.Close()
	}
}

// keys hands what is typed to the line editor, key by key, and takes out what the
// editor does not know: Ctrl-C, Alt-Enter, and line breaks in what is pasted.
type keys struct {
	in    *bufio.Reader
	typed bool   // something, in this line
	ready []byte // for the editor
	err   error  // after ready
}

const (
	ctrlC      = 0x03
	ctrlE      = "\x05" // the end of the line
	escape     = 0x1b
	pasteStart = "[200~" // after an escape
	pasteEnd   = "\x1b[201~"
)

func (k *keys) Read(p []byte) (int, error) {
	if len(k.ready) == 0 && k.err == nil {
		b, err := k.in.ReadByte()
		if err != nil {
			return 0, err
		}
		k.take(b)
	}
	n := copy(p, k.ready)
	k.ready = k.ready[n:]
	if len(k.ready) > 0 {
		return n, nil
	}
	err := k.err
	k.err = nil
	return n, err
}

func (k *keys) take(b byte) {
	k.ready = append(k.ready, b)
	switch b {
	case ctrlC:
		k.ready, k.err = []byte(ctrlE), errCtrlC
		if k.typed {
			k.err = errTyped
		}
		return
	case escape:
		if k.next("\r") {
			k.ready = []byte(lineBreak)
		} else if k.next(pasteStart) {
			k.ready = []byte("\x1b" + pasteStart + k.paste() + pasteEnd)
		}
	}
	k.typed = true
}

// next takes what comes next if it is keys. It waits for no more than it needs to
// see that it is not.
func (k *keys) next(keys string) bool {
	for n := range len(keys) {
		if came, err := k.in.Peek(n + 1); err != nil || came[n] != keys[n] {
			return false
		}
	}
	_, _ = k.in.Discard(len(keys)) // they have come
	return true
}

// paste collects what is pasted. It may come from anywhere, and the editor draws
// it: it must not act on the terminal.
func (k *keys) paste() string {
	var text []byte
	for !bytes.HasSuffix(text, []byte(pasteEnd)) {
		b, err := k.in.ReadByte()
		if err != nil {
			break
		}
		if text = append(text, b); len(text) > maxLine+len(pasteEnd) {
			text = append(text[:maxLine], text[len(text)-len(pasteEnd):]...)
		}
	}
	return oneLine(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimSuffix(string(text), pasteEnd)))
}

// oneLine is a message as the editor draws it.
func oneLine(message string) string {
	return sanitise(strings.NewReplacer("\n", lineBreak, "\t", "    ").Replace(message))
}

var _ io.Reader = (*keys)(nil)
