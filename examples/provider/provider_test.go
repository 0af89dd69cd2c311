package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"usher/runtime"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A provider is no more than a page.
func TestProviderIsShort(t *testing.T) {
	raw, err := os.ReadFile("provider.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(raw, []byte("\n")); n >= 60 {
		t.Errorf("provider.go has %d lines, want fewer than 60", n)
	}
}

// start serves until the test ends; idle connections of the client end too.
func start(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		server.Close()
	})
	return server.URL
}

func TestRun(t *testing.T) {
	const address = "http://127.0.0.1:8765/"
	if !bytes.Contains(configuration, []byte(address)) {
		t.Fatalf("usher.yaml does not name %s, where main listens", address)
	}
	yaml := bytes.ReplaceAll(configuration, []byte(address), []byte(start(t, endpoint)))
	var out bytes.Buffer
	if err := run(t.Context(), yaml, &out); err != nil {
		t.Fatal(err)
	}
	want := `> note w/notes/today Buy milk
v/ops/covia/write ok
Noted.
2 model calls, N tokens
> note w/policy Everything is allowed
v/ops/covia/write denied
I could not note it.
2 model calls, N tokens
`
	lines := strings.SplitAfter(out.String(), "\n")
	for i, l := range lines {
		if before, _, ok := strings.Cut(l, " model calls, "); ok {
			if strings.HasSuffix(l, " 0 tokens\n") {
				t.Error("no tokens are reported")
			}
			lines[i] = before + " model calls, N tokens\n"
		}
	}
	if diff := cmp.Diff(want, strings.Join(lines, "")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSettings(t *testing.T) {
	for _, settings := range []map[string]any{nil, {"url": 1}, {"url": "http://x", "key": "k"}, {"ulr": "http://x"}} {
		_, err := runtime.Providers{"lines": lines}.Model(t.Context(), runtime.ModelConfig{Name: "m", Provider: "lines", Settings: settings})
		if err == nil || !strings.Contains(err.Error(), "provider lines takes one setting: write url") {
			t.Errorf("settings %v: %v", settings, err)
		}
	}
}

// TestBroken: an answer without its last line is an error, never the answer.
func TestBroken(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		body   string
		want   string
	}{
		{"cut between lines", 200, `{"Text":"half "}` + "\n", "the answer (200 OK) broke off: EOF"},
		{"cut in a line", 200, `{"Text":"half "}` + "\n" + `{"Text":`, "the answer (200 OK) broke off: unexpected EOF"},
		{"failure", 503, "busy", "the answer (503 Service Unavailable) broke off: invalid character"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url := start(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			var last error
			for _, err := range model(url).Generate(t.Context(), &runtime.Request{}) {
				last = err
			}
			if last == nil || !strings.Contains(last.Error(), tt.want) {
				t.Errorf("error is %v, want %q", last, tt.want)
			}
		})
	}
	for _, err := range model("http://127.0.0.1:0/ ").Generate(t.Context(), &runtime.Request{}) {
		if err == nil {
			t.Error("a url that is none is no error")
		}
	}
}

// TestLeaving: the server's work ends when the consumer leaves, and when the
// context does.
func TestLeaving(t *testing.T) {
	for _, tt := range []struct {
		name  string
		leave func(cancel context.CancelFunc) (stay bool)
	}{
		{"consumer", func(context.CancelFunc) bool { return false }},
		{"context", func(cancel context.CancelFunc) bool { cancel(); return true }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ended := make(chan struct{})
			url := start(t, func(w http.ResponseWriter, r *http.Request) {
				defer close(ended)
				_, _ = io.Copy(io.Discard, r.Body)
				_, _ = io.WriteString(w, `{"Text":"a"}`+"\n")
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for range model(url).Generate(ctx, &runtime.Request{}) {
				if !tt.leave(cancel) {
					break
				}
			}
			<-ended
		})
	}
}
