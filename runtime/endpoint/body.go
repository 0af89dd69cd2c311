package endpoint

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"unicode"
)

// plain makes the body of res what its server meant to say: without a byte order
// mark, and unpacked where it was packed although nobody asked for that. Bounds
// on what is read belong above it.
func plain(res *http.Response) {
	res.Body = &plainBody{ReadCloser: res.Body, packed: strings.EqualFold(res.Header.Get("Content-Encoding"), "gzip")}
}

type plainBody struct {
	io.ReadCloser
	packed bool
	in     *bufio.Reader
}

func (p *plainBody) Read(to []byte) (int, error) {
	if p.in == nil {
		var from io.Reader = p.ReadCloser
		if p.packed {
			var err error
			if from, err = gzip.NewReader(from); err != nil {
				return 0, err
			}
		}
		p.in = bufio.NewReader(from)
		if mark, _ := p.in.Peek(len(byteOrderMark)); string(mark) == byteOrderMark { // what is shorter has none
			_, _ = p.in.Discard(len(mark))
		}
	}
	return p.in.Read(to)
}

const byteOrderMark = "\uFEFF"

// maxErrorBody bounds what is read of an answer that is an error: bytes.
const maxErrorBody = 64 << 10

// errorBody is what was read of an error, up to maxErrorBody bytes. Where that
// may not be all, its last word goes: half a key would not be found in it.
func errorBody(read []byte, all bool) []byte {
	if all && len(read) < maxErrorBody {
		return read
	}
	return bytes.TrimRightFunc(read, func(r rune) bool { return !unicode.IsSpace(r) })
}
