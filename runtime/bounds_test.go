package runtime_test

import (
	"context"
	"strings"
	"testing"

	"usher/caps"
	"usher/runtime"
	"usher/tools/fault"
)

func TestSayIsBounded(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		ok         bool
	}{
		{"nothing", "", true},
		{"as much as may", strings.Repeat("x", runtime.MaxSaid-2), true},
		{"one more", strings.Repeat("x", runtime.MaxSaid-1), false},
		{"more by its escapes", strings.Repeat("\n", runtime.MaxSaid/2), false},
		{"a large file", strings.Repeat("x", 12<<20), false},
	} {
		err := (&runtime.Say{Text: tc.text}).Check()
		if (err == nil) != tc.ok || !tc.ok && (fault.Of(err) != fault.TooLarge || !strings.Contains(err.Error(), "at most 491520")) {
			t.Errorf("%s: %v, want allowed %t", tc.name, err, tc.ok)
		}
	}
}

// An answer that no log takes ends the turn with an error that says so, and what a
// tool says is cut to what a log takes.
func TestAnswersAreBounded(t *testing.T) {
	long := strings.Repeat("x", runtime.MaxSaid)
	for _, tc := range []struct {
		name   string
		answer []runtime.Chunk
		ok     bool
	}{
		{"a text", text(long[:runtime.MaxSaid-100]), true},
		{"a text that is too long", text(long + "x"), false},
		{"a text that is too long by its escapes", text(strings.Repeat("\x01", runtime.MaxSaid/4)), false},
		{"arguments", calls("map_read", `{"key":"`+long+`"}`), false},
		{"text and arguments", append(text(long[:300<<10]), calls("map_read", `{"key":"`+long[:300<<10]+`"}`)...), false},
		{"reasoning", append([]runtime.Chunk{{Reasoning: long}}, calls("map_read", key("w/a"))...), false},
		{"reasoning that leads to no call", append([]runtime.Chunk{{Reasoning: long}}, text("fine")...), true},
		{"reasoning without end", append([]runtime.Chunk{{Reasoning: strings.Repeat(long, 5)}}, text("fine")...), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFixture(t, caps.Unrestricted(), tc.answer)
			events, err := turn(t, f.runner(runtime.Options{}), f.agent, runtime.NewSession("s", nil), "go")
			if (err == nil) != tc.ok || !tc.ok && (fault.Of(err) != fault.TooLarge || !strings.Contains(err.Error(), "the model's answer takes more than 491520 bytes")) {
				t.Errorf("turn = %.200v after %d events, want an answer %t", err, len(events), tc.ok)
			}
		})
	}
	f := newFixture(t, reader(), calls("map_read", key("w/a")), text("done"))
	f.onRead = func(_ context.Context, _ string) (string, error) { return strings.Repeat(`"`, 900<<10), nil }
	events, err := turn(t, f.runner(runtime.Options{MaxToolResult: 4 << 20}), f.agent, runtime.NewSession("s", nil), "go")
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range events {
		if raw, err := runtime.EventJSON(ev); err != nil || len(raw) > 3*runtime.MaxSaid/2+1000 {
			t.Errorf("a %T takes %d bytes, %v", ev, len(raw), err)
		}
	}
}
