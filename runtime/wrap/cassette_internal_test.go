package wrap

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var texts = rapid.OneOf(
	rapid.String(),
	rapid.StringMatching(`[ a-z:#"'\\{}\[\]|>&*!%@\n\t\r-]{0,20}`),
	rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	rapid.SampledFrom([]string{"", "~", "null", "true", "1e3", "---", "...", "a\n---\nb", "- x\n- y", "a\n\n\nb", "a\n", "\na", "a \nb", "é\nü", "\u0085", "\u2028x\ny", "\ufeff", "{base64: x}", "2026-11-20", "a: |\n  b", "a\n# b", "%YAML 1.2\n---", "😀\n😀"}),
)

func drawText(t *rapid.T) exact { return exact(texts.Draw(t, "text")) }

func drawEpisode(t *rapid.T) *episode {
	e := &episode{Left: rapid.Bool().Draw(t, "left")}
	e.Request.System, e.Request.Output = drawText(t), drawText(t)
	for range rapid.IntRange(0, 3).Draw(t, "messages") {
		m := recordedMessage{Role: drawText(t), CallID: drawText(t), Name: drawText(t), Text: drawText(t), Reasoning: drawText(t), Failed: rapid.Bool().Draw(t, "failed")}
		for range rapid.IntRange(0, 2).Draw(t, "calls") {
			m.Calls = append(m.Calls, recordedCall{drawText(t), drawText(t), drawText(t)})
		}
		e.Request.Messages = append(e.Request.Messages, m)
	}
	for range rapid.IntRange(0, 2).Draw(t, "tools") {
		e.Request.Tools = append(e.Request.Tools, recordedTool{drawText(t), drawText(t), drawText(t)})
	}
	for range rapid.IntRange(0, 4).Draw(t, "chunks") {
		c := recordedChunk{Text: drawText(t), Reasoning: drawText(t), Finish: drawText(t), Model: drawText(t)}
		if rapid.Bool().Draw(t, "call") {
			c.Call = &recordedDelta{rapid.IntRange(0, 3).Draw(t, "index"), drawText(t), drawText(t), drawText(t)}
		}
		if rapid.Bool().Draw(t, "usage") {
			count := rapid.Int()
			c.Usage = &recordedUsage{count.Draw(t, "in"), count.Draw(t, "out"), count.Draw(t, "read"), count.Draw(t, "written"), rapid.Int64().Draw(t, "cost")}
		}
		if rapid.Bool().Draw(t, "delay") {
			c.Delay = &recordedDelay{drawText(t), rapid.Int64().Draw(t, "wait"), drawText(t), rapid.Int().Draw(t, "try"), rapid.Int().Draw(t, "tries")}
		}
		e.Chunks = append(e.Chunks, c)
	}
	if rapid.Bool().Draw(t, "error") {
		e.Error = &recordedError{Message: drawText(t), RetryAfter: drawText(t), Window: rapid.Bool().Draw(t, "window"), Class: drawText(t), Code: drawText(t), Details: drawText(t)}
		if rapid.Bool().Draw(t, "told") {
			temporary := rapid.Bool().Draw(t, "temporary")
			e.Error.Temporary = &temporary
		}
	}
	return e
}

// Any episode can be written, and several of them read back the same.
func TestCassetteReadsBackWhatItPrints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []episode
		var file strings.Builder
		for range rapid.IntRange(1, 3).Draw(t, "episodes") {
			e := drawEpisode(t)
			text, err := e.print()
			if err != nil {
				t.Fatalf("%v\n%#v", err, e)
			}
			plain := new(printer)
			plain.episode(e)
			if back, err := parseCassette(strings.NewReader(plain.String())); err != nil || len(back) != 1 || !reflect.DeepEqual(&back[0], e) {
				t.Fatalf("without blocks: %v\n%#v\nreads back as\n%#v", err, e, back)
			}
			want = append(want, *e)
			file.WriteString(text)
		}
		got, err := parseCassette(strings.NewReader(file.String()))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v\n%#v\nreads back as\n%#v\n%s", err, want, got, file.String())
		}
		for i := range got {
			if got[i].Request.canonical() != want[i].Request.canonical() {
				t.Fatal("the request of entry", i, "is compared otherwise")
			}
		}
	})
}

// Texts that differ are compared as different.
func TestCanonicalRequestIsInjective(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawEpisode(t).Request, drawEpisode(t).Request
		if same := reflect.DeepEqual(a, b); same != (a.canonical() == b.canonical()) {
			t.Fatalf("equal = %t:\n%s\n%s", same, a.canonical(), b.canonical())
		}
	})
}

func FuzzParseCassette(f *testing.F) {
	f.Add("---\nrequest:\n  system: |-\n    a\n    b\nchunks:\n  - {\"text\":\"x\"}\n  - {\"call\":{\"index\":0}}\nerror: {\"message\":\"m\"}\nleft: true\n")
	f.Add("request: {system: {base64: /w==}}\n")
	f.Add("a: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		episodes, err := parseCassette(strings.NewReader(text))
		if err != nil {
			return
		}
		for i := range episodes {
			e := &episodes[i]
			printed, err := e.print()
			if err != nil {
				continue // refusing is allowed, writing something else is not
			}
			back, err := parseCassette(strings.NewReader(printed))
			if err != nil || len(back) != 1 || !reflect.DeepEqual(&back[0], e) {
				t.Fatalf("%v: %#v reads back as %#v", err, e, back)
			}
		}
	})
}

var secretish = rapid.OneOf(
	rapid.StringMatching(`[a-z "':=\n]{0,8}`),
	rapid.SampledFrom([]string{
		"sk-abcdef123", "Bearer ", "bearer abc.def", "Authorization: ", `"authorization":"Basic YWJj"`, "api_key=", "x-api-key: k", redacted, "[red", "acted]", "hunter2", "foo",
		"eyJhbGciOi.eyJzdWIi.c2ln", "https://u:p@h/", "-----BEGIN PRIVATE KEY-----", "\\", "é",
	}),
)

// Scrubbing in pieces is scrubbing the whole, and twice is once.
func TestScrubProperties(t *testing.T) {
	s := newScrubber([]string{"hunter2", "foo", "act"})
	rapid.Check(t, func(t *rapid.T) {
		whole := strings.Join(rapid.SliceOfN(secretish, 0, 8).Draw(t, "whole"), "")
		want := s.scrub(whole)
		if again := s.scrub(want); again != want {
			t.Fatalf("%q is %q, and then %q", whole, want, again)
		}
		var parts []*string
		for rest := whole; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			part := rest[:n]
			parts, rest = append(parts, &part), rest[n:]
		}
		s.across(parts...)
		got := ""
		for _, p := range parts {
			got += *p
		}
		if got != want {
			t.Fatalf("in %d pieces %q is %q, whole %q", len(parts), whole, got, want)
		}
		if strings.Contains(got, "hunter2") {
			t.Fatalf("%q still holds the secret: %q", whole, got)
		}
	})
}
