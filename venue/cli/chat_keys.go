package cli

import (
	"bufio"
	"bytes"
	"io"
	"strings"
)

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
			k.ready = []byte("\x1b" + pasteStart + k.pasted() + pasteEnd)
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

// pasted collects what is pasted. It may come from anywhere, and the editor draws
// it: it must not act on the terminal.
func (k *keys) pasted() string {
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
	return sanitised(strings.NewReplacer("\n", lineBreak, "\t", "    ").Replace(message))
}

var _ io.Reader = (*keys)(nil)
