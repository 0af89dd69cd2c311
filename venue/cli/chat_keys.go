package cli

import (
	"bytes"
	"io"
	"strings"
)

// keys hands what is typed to the line editor, one line at a time, and takes
// out what the editor does not know: Ctrl-C, Alt-Enter, and line breaks in
// what is pasted.
type keys struct {
	in    io.Reader
	came  func() // called when keys came
	raw   []byte // came, not looked at yet
	end   error  // of what comes
	ready []byte // for the editor
	err   error  // after ready

	pasting bool
	paste   []byte
	typed   bool // in this line
}

const (
	ctrlC      = 0x03
	ctrlE      = "\x05" // the end of the line
	escape     = 0x1b
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// begin begins a line.
func (k *keys) begin(came func()) { k.came, k.typed = came, false }

func (k *keys) Read(p []byte) (int, error) {
	var buf [1024]byte
	for len(k.ready) == 0 {
		if k.look() {
			continue
		}
		if k.end != nil {
			return 0, k.end
		}
		var n int
		n, k.end = k.in.Read(buf[:])
		k.raw = append(k.raw, buf[:n]...)
		k.came()
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

// look makes the next keys ready, the end of the line at the end of them. It
// reports whether there were any.
func (k *keys) look() bool {
	if k.pasting {
		return k.lookPasted()
	}
	for i, b := range k.raw {
		rest := string(k.raw[i:min(len(k.raw), i+len(pasteStart))])
		switch {
		case b == ctrlC:
			k.err = errCtrlC
			if k.typed || i > 0 {
				k.err = errTyped
			}
			return k.give(i, ctrlE, 1)
		case b == '\r' || b == '\n':
			return k.give(i+1, "", 0)
		case b != escape:
		case rest == pasteStart:
			k.pasting = true
			return k.give(i, "", len(pasteStart))
		case len(rest) > 1 && rest[1] == '\r':
			return k.give(i, lineBreak, 2)
		case strings.HasPrefix(pasteStart, rest): // what follows will say
			return i > 0 && k.give(i, "", 0)
		}
	}
	return len(k.raw) > 0 && k.give(len(k.raw), "", 0)
}

// give makes n bytes ready, and then more in the place of skip bytes.
func (k *keys) give(n int, more string, skip int) bool {
	k.ready = append(append(k.ready, k.raw[:n]...), more...)
	k.raw = k.raw[n+skip:]
	k.typed = k.typed || n > 0
	return true
}

// lookPasted collects what is pasted. It may come from anywhere, and the
// editor draws it: it must not act on the terminal.
func (k *keys) lookPasted() bool {
	text, rest, whole := bytes.Cut(k.raw, []byte(pasteEnd))
	if !whole {
		held := min(len(k.raw), len(pasteEnd)-1) // the mark may have begun
		text, rest = k.raw[:len(k.raw)-held], k.raw[len(k.raw)-held:]
	}
	k.paste = append(k.paste, text[:min(len(text), maxLine-len(k.paste))]...)
	k.raw = append([]byte(nil), rest...)
	if !whole {
		return false
	}
	line := oneLine(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(k.paste)))
	k.ready = append(k.ready, pasteStart+line+pasteEnd...)
	k.paste, k.pasting, k.typed = nil, false, true
	return true
}

// oneLine is a message as the editor draws it.
func oneLine(message string) string {
	return sanitised(strings.NewReplacer("\n", lineBreak, "\t", "    ").Replace(message))
}
