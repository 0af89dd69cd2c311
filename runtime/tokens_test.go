package runtime_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"usher/runtime"
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
