package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
)

func TestTranscript(t *testing.T) {
	answered := func(text, model string) runtime.Event { return runtime.ModelAnswer{Text: text, Model: model} }
	for _, tc := range []struct {
		name   string
		events []runtime.Event
		want   string
	}{
		{"an answer that was rejected", []runtime.Event{
			answered("five", ""),
			runtime.OutputRejection{Reason: "it is no number", Try: 1, Tries: 3},
			answered("5", ""),
		}, "five\n· the answer does not fit the output schema (try 1 of 3): it is no number\n5\n"},
		{"one model", []runtime.Event{answered("a", "small"), answered("b", ""), answered("c", "small")}, "a\nb\nc\n"},
		{"another model", []runtime.Event{
			answered("a", ""), answered("b", "small"), answered("c", "large"), answered("d", "large"), answered("e", "small"),
		}, "a\nb\nlarge answers from here on (small before)\nc\nd\nsmall answers from here on (large before)\ne\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out strings.Builder
			page := (&streams{out: &out, err: &out}).view()
			for i, ev := range tc.events {
				page.entry(runtime.Entry{Seq: uint64(i + 1), Event: ev})
			}
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
