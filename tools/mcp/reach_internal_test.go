package mcp

import (
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/caps"
	"usher/tools/fault"
)

// Who could call nothing of a server starts none, by whatever name or list: it is denied, or
// finds nothing.
func TestWhoStartsAServer(t *testing.T) {
	for name, tt := range map[string]struct {
		with, can string
		lines     []Line
		starts    bool
	}{
		"nothing of it":          {with: "mcp/other", can: "invoke"},
		"another ability":        {with: "mcp/s", can: "mcp/read"},
		"nothing that lines say": {with: "mcp/s", can: "invoke", lines: []Line{{Match: "echo", Can: "crud/read", With: templates{"file://docs/{path}"}}}},
		"one tool":               {with: "mcp/s/echo", can: "invoke", starts: true},
		"what a line says":       {with: "file://docs/a", can: "crud/read", lines: []Line{{Match: "echo", Can: "crud/read", With: templates{"file://docs/{path}"}}}, starts: true},
	} {
		t.Run(name, func(t *testing.T) {
			set := caps.Of(caps.MustCapability(tt.with, tt.can))
			ways := map[string]func(l *lair) error{
				"a call": func(l *lair) error { _, err := l.may(&set, "mcp/s/echo", `{"path":"a"}`); return err },
				"a list": func(l *lair) error { l.registry.Fetch(l.Context(), l.owner, set); return nil },
				"below":  func(l *lair) error { _, err := l.registry.Below(l.Context(), l.owner, set, "mcp/s/"); return err },
			}
			for way, try := range ways {
				var started atomic.Int32
				l := newLair(t, Options{transport: func(s Server) sdk.Transport {
					started.Add(1)
					return inMemory(func() *sdk.Server {
						served := sdk.NewServer(impl(), nil)
						add(served, "echo", "")
						return served
					})(s)
				}})
				l.set(Server{ID: "s", Command: []string{"x"}, Tools: tt.lines})
				err := try(l)
				onlyList := way != "a call" && name == "nothing that lines say" // another tool may be without a line
				if want := tt.starts || onlyList; (started.Load() > 0) != want {
					t.Errorf("%s starts %d servers (%v), want one: %t", way, started.Load(), err, want)
				}
				if way == "a call" && !tt.starts && (fault.Of(err) != fault.Denied || !strings.Contains(err.Error(), "mcp/s/echo requires")) {
					t.Errorf("%s: %v, want a denial", way, err)
				}
			}
		})
	}
}
