package runtime_test

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"usher/caps"
	"usher/runtime"
	"usher/tools/schema"
)

func TestEstimateTokens(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       int
	}{
		{"nothing", "", 0},
		{"English", strings.Repeat("word ", 80), 100},
		{"Greek", strings.Repeat("α", 100), 100},
		{"Chinese", strings.Repeat("字", 100), 150},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := runtime.EstimateTokens(&runtime.Request{System: tc.text}); got != tc.want {
				t.Errorf("EstimateTokens = %d, want %d", got, tc.want)
			}
		})
	}
}

// Counting eight bytes at a time comes to the same as one at a time.
func TestEstimateTokensTwin(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.String().Draw(r, "text")
		quarters := len(text)
		for _, c := range []byte(text) {
			if c >= 0x80 {
				quarters++
			}
		}
		if got, want := runtime.EstimateTokens(&runtime.Request{System: text}), (quarters+3)/4; got != want {
			r.Fatalf("EstimateTokens(%q) = %d, want %d", text, got, want)
		}
	})
}

func BenchmarkEstimateTokens(b *testing.B) {
	req := &runtime.Request{System: strings.Repeat("A conversation of some length. ", 1<<15)}
	b.SetBytes(int64(len(req.System)))
	b.ReportAllocs()
	for b.Loop() {
		runtime.EstimateTokens(req)
	}
}

// weighed holds what a request carries of its size against measuring it anew.
type weighed struct {
	*small
	t     *testing.T
	asked int
}

func (w *weighed) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	anew := *req
	if got, want := runtime.EstimateTokens(req), runtime.EstimateTokens(&anew); got != want {
		w.t.Errorf("request %d says that it takes %d tokens, and takes %d", w.asked, got, want)
	}
	anew.Messages = append(slices.Clone(anew.Messages), runtime.Message{Text: filler})
	if got, less := runtime.EstimateTokens(&anew), runtime.EstimateTokens(req); got < less+1000 {
		w.t.Errorf("a longer copy of request %d takes %d tokens, and the request %d", w.asked, got, less)
	}
	w.asked++
	return w.small.Generate(ctx, req)
}

// What a request carries of its size is true of each request, whatever was said,
// called, told and summarised before it.
func TestRequestsKnowTheirSize(t *testing.T) {
	f := newFixture(t, reader(),
		text("Öh. "+filler), calls("map_read", key("w/a")), text("It is there."), text("More. "+filler), text("Still more."), text(`"so"`))
	f.onRead = func(_ context.Context, key string) (string, error) { return key + " ist schön", nil }
	m := &weighed{small: f.long(&small{window: 3000, notes: "Notes: größer."}), t: t}
	f.agent.Model = m
	s := runtime.NewSession("s", nil)
	says := func(what string) {
		t.Helper()
		if _, err := turn(t, f.runner(runtime.Options{}), f.agent, s, what); err != nil {
			t.Fatal(err)
		}
	}
	says("Grüße. " + filler)
	if err := s.Leave(t.Context(), clock(), runtime.InboxMessage{From: "bob", Text: "Ça va?"}); err != nil {
		t.Fatal(err)
	}
	says("Read it.")
	says("Go on.")
	says("And on.")
	f.narrow(caps.Set{}) // nothing is on offer any more
	var err error
	if f.agent.Output, err = schema.Compile(t.Context(), json.RawMessage(`{"type":"string"}`), nil); err != nil {
		t.Fatal(err)
	}
	says("And now?")
	if m.asked < 7 || len(m.noted) == 0 {
		t.Errorf("the model was asked %d times, %d of them for notes", m.asked, len(m.noted))
	}
}
