package endpoint

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

func TestPlain(t *testing.T) {
	packed := func(s string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write([]byte(s))
		_ = z.Close()
		return b.String()
	}
	for _, tt := range []struct{ name, encoding, sent, want string }{
		{"as it is", "", "hello", "hello"},
		{"nothing", "", "", ""},
		{"short", "", "h", "h"},
		{"marked", "", "\uFEFFhello", "hello"},
		{"marked twice", "", "\uFEFF\uFEFF", "\uFEFF"},
		{"half a mark", "", "\xef\xbb", "\xef\xbb"},
		{"packed", "gzip", packed("hello"), "hello"},
		{"packed, in capitals", "GZIP", packed("hello"), "hello"},
		{"packed and marked", "gzip", packed("\uFEFFhello"), "hello"},
		{"another encoding", "identity", "hello", "hello"},
	} {
		res := &http.Response{Header: http.Header{"Content-Encoding": {tt.encoding}}, Body: io.NopCloser(iotest.OneByteReader(strings.NewReader(tt.sent)))}
		plain(res)
		if got, err := io.ReadAll(res.Body); err != nil || string(got) != tt.want {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
	res := &http.Response{Header: http.Header{"Content-Encoding": {"gzip"}}, Body: io.NopCloser(strings.NewReader("not packed at all"))}
	plain(res)
	if got, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("what is not packed reads as %q", got)
	}
}

func TestErrorBody(t *testing.T) {
	cut := strings.Repeat("x", maxErrorBody-10) + " " + "sk-half-k"
	for _, tt := range []struct {
		name, read string
		all        bool
		want       int // bytes of it
	}{
		{"all of it", "bad key", true, 7},
		{"torn", "bad ke", false, 4},
		{"cut", cut, true, len(cut) - 9},
	} {
		if got := errorBody([]byte(tt.read), tt.all); string(got) != tt.read[:tt.want] {
			t.Errorf("%s: %d bytes are left, want %d", tt.name, len(got), tt.want)
		}
	}
}
