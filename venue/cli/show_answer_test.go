package cli_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"
	"testing"

	"usher/runtime"
	"usher/venue/cli"
)

// scripted is a model that answers with what stands in a list, one after the
// other. "!" at the end of an answer is a failure after it, and "@" a tool call.
type scripted struct{ answers []string }

func (s *scripted) Generate(context.Context, *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		text := s.answers[0]
		s.answers = s.answers[1:]
		said := strings.TrimRight(text, "!@")
		if said != "" && !yield(runtime.Chunk{Text: said}, nil) {
			return
		}
		switch {
		case strings.HasSuffix(text, "!"):
			yield(runtime.Chunk{}, errors.New("no luck"))
			return
		case strings.HasSuffix(text, "@") && !yield(runtime.Chunk{Call: &runtime.CallDelta{Name: "covia_read", Arguments: `{"path":"w/x"}`}}, nil):
			return
		}
		yield(runtime.Chunk{Finish: "stop"}, nil)
	}
}

// clerk is a configuration whose one agent has the scripted model.
func clerk(t *testing.T, output string) (file string) {
	t.Helper()
	return project(t, "user: me\nstore: memory\nmodels: {default: {provider: test}}\nagents: [{id: clerk, tools: [covia:read], caps: [{with: w/, can: crud/read}]"+output+"}]\n")
}

// What reads the output of a run gets the answer and nothing else; what was
// said on the way, and what came to nothing, is for a person.
func TestWhatAPipeGets(t *testing.T) {
	const schema = ", output: {type: object, required: [n]}"
	for _, tc := range []struct {
		name    string
		answers []string
		output  string
		status  int
		run     string   // standard output of usher run
		chat    string   // and of usher chat, which streams
		log     []string // on standard error of usher run, in this order
	}{
		{"an answer", []string{"Hello."}, "", 0, "Hello.\n", "Hello.\n", []string{"1 model call\n"}},
		{"an answer that ends its line", []string{"Hello.\n"}, "", 0, "Hello.\n", "Hello.\n", nil},
		{"words before a call", []string{"I look.\nA moment.@", "Done."}, "", 0, "Done.\n", "I look.\nA moment.\nDone.\n", []string{"| I look.\n| A moment.\n", "covia/read w/x\n", "2 model calls\n"}},
		{"a call without words", []string{"@", "Done."}, "", 0, "Done.\n", "Done.\n", []string{"✓ v/ops/covia/read w/x\n2 model calls\n"}},
		{"an answer that does not fit", []string{"one", "```json\n{\"n\":1}\n```"}, schema, 0, "{\"n\":1}\n", "one\n```json\n{\"n\":1}\n```\n", []string{"| one\n", "does not fit the output schema (try 1 of 3)", "2 model calls\n"}},
		{"none that fits", []string{"one", "two", "three"}, schema, 1, "", "one\ntwo\nthree\n", []string{"one\n", "two\n", "three\n", "after 3 tries"}},
		{"a failure after a call", []string{"I look.@", "Half!"}, "", 1, "", "I look.\nHalf\n", []string{"| I look.\n", "| Half\n", "no luck"}},
		{"nothing", []string{""}, "", 0, "", "", []string{"the model answered nothing\n1 model call\n"}},
		{"blanks", []string{" \n"}, "", 0, "", " \n", []string{"the model answered nothing\n"}},
		{"null is an answer", []string{"null"}, ", output: {type: 'null'}", 0, "null\n", "null\n", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for command, want := range map[string]string{"run": tc.run, "chat": tc.chat} {
				var out, log strings.Builder
				if status := modelled(&scripted{tc.answers}, &out, &log).Run(t.Context(), []string{command, "clerk", "-c", clerk(t, tc.output)}); status != tc.status {
					t.Errorf("%s: status %d, want %d\n%s", command, status, tc.status, log.String())
				}
				if out.String() != want {
					t.Errorf("%s: stdout is %q, want %q", command, out.String(), want)
				}
				if rest := log.String(); command == "run" {
					for _, text := range tc.log {
						_, after, found := strings.Cut(rest, text)
						if !found {
							t.Fatalf("stderr has no %q in %q of %q", text, rest, log.String())
						}
						rest = after
					}
				}
				if told := strings.Contains(log.String(), "answered nothing"); told != (tc.name == "nothing" || tc.name == "blanks") {
					t.Errorf("%s: that there is no answer is told: %v\n%s", command, told, log.String())
				}
			}
		})
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("nobody reads") }

// An answer that nobody could be given is a failure.
func TestAnAnswerThatCannotBeWritten(t *testing.T) {
	if status := modelled(&scripted{[]string{"Hello."}}, full{}, io.Discard).Run(t.Context(), []string{"run", "clerk", "-c", clerk(t, "")}); status != cli.ExitFailed {
		t.Errorf("status %d, want %d", status, cli.ExitFailed)
	}
}
