package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"usher/caps"
	"usher/prompt"
	"usher/runtime"
)

// What is delegated to an agent in the middle of a turn stands in its next
// request; where it cannot be told the model is not asked.
func TestWhatIsDelegatedIsTold(t *testing.T) {
	f := newFixture(t, reader(), calls("map_read", key("w/a")), calls("map_read", key("w/b")), text("done"))
	unknown := errors.New("nobody knows")
	f.agent.Held = func(context.Context) ([]prompt.Delegation, error) {
		switch len(f.model.requests) {
		case 0:
			return nil, nil
		case 1:
			return []prompt.Delegation{{Capability: caps.MustCapability("w/lent", "crud/read"), Owner: "did:key:zBob"}}, nil
		}
		return nil, unknown
	}
	if _, err := turn(t, f.runner(runtime.Options{}), f.agent, runtime.NewSession("s", nil), "go"); !errors.Is(err, unknown) {
		t.Errorf("turn = %v, want %v", err, unknown)
	}
	if n := len(f.model.requests); n != 2 {
		t.Fatalf("the model was asked %d times, want twice", n)
	}
	for i, want := range []bool{false, true} {
		if told := strings.Contains(f.model.requests[i].System, "w/lent"); told != want {
			t.Errorf("request %d tells of what is lent: %t, want %t", i, told, want)
		}
	}
}

// What a context asks for: in a turn, and where somebody only looks.
func TestContextOfAnAgent(t *testing.T) {
	read := func(path string, required bool) runtime.ContextEntry {
		return runtime.ContextEntry{Label: "It", Operation: "map:read", Input: json.RawMessage(key(path)), Required: required}
	}
	for _, tc := range []struct {
		name  string
		entry runtime.ContextEntry
		look  bool
		want  string // in the system message
		fails bool
	}{
		{"read", read("w/a", false), false, "value of w/a", false},
		{"too long", read("w/long", false), false, "[cut: this is the first 100 of 1000 bytes", false},
		{"not there", read("w/none", false), false, "(not available: there is nothing", false},
		{"not there, and required", read("w/none", true), false, "", true},
		{"stopped meanwhile", read("w/stop", false), false, "", true},
		{"looked at", read("w/a", false), true, "value of w/a", false},
		{"what acts, looked at", runtime.ContextEntry{Operation: "map:write", Input: json.RawMessage(key("w/a"))}, true, "(asked at the start of each turn)", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFixture(t, caps.Unrestricted(), text("done"))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			f.onRead = func(ctx context.Context, key string) (string, error) {
				switch key {
				case "w/long":
					return strings.Repeat("x", 1000), nil
				case "w/none":
					return "", errors.New("there is nothing")
				case "w/stop":
					cancel()
					return "", ctx.Err()
				}
				return "value of " + key, nil
			}
			f.agent.Context = []runtime.ContextEntry{tc.entry}
			r := f.runner(runtime.Options{MaxToolResult: 100})
			var system string
			var err error
			if tc.look {
				var b runtime.Briefing
				b, err = r.Brief(ctx, f.agent)
				system = b.System
			} else {
				for _, failure := range r.Turn(ctx, f.agent, runtime.NewSession("s", nil), runtime.Say{Text: "go"}) {
					err = failure
				}
				if len(f.model.requests) > 0 {
					system = f.model.requests[0].System
				}
			}
			if _, ok := errors.AsType[*runtime.ContextError](err); ok != tc.fails || (err != nil) != tc.fails {
				t.Errorf("error %v, want one: %t", err, tc.fails)
			}
			if tc.fails == (system != "") || !strings.Contains(system, tc.want) {
				t.Errorf("the model was told %q, want %q", system, tc.want)
			}
		})
	}
}

// What is no text is cut in a context as a result is.
func TestJSONInAContextIsCut(t *testing.T) {
	f := newFixture(t, caps.Unrestricted(), text("done"))
	f.agent.Context = []runtime.ContextEntry{{Operation: "map:write", Input: json.RawMessage(key("w/a"))}} // answers true
	if _, err := turn(t, f.runner(runtime.Options{MaxToolResult: 3}), f.agent, runtime.NewSession("s", nil), "go"); err != nil {
		t.Fatal(err)
	}
	if told := f.model.requests[0].System; !strings.Contains(told, "tru\n[cut: this is the first 3 of 4 bytes") {
		t.Errorf("the model was told %q", told)
	}
}
