package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"usher/caps"
	"usher/tools"
	"usher/tools/toolstest"
)

// What a sealed operation was given stands nowhere: not in the ledger, by
// whose digest it could be guessed, nor in the log of its panic.
func TestSealed(t *testing.T) {
	const secret = "hunter2"
	for name, tc := range map[string]struct {
		opts     []tools.Option
		digested bool
		sealed   bool
	}{
		"sealed":     {[]tools.Option{tools.WithSeal()}, false, true},
		"undigested": {[]tools.Option{tools.WithoutDigest()}, false, false},
		"neither":    {nil, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			op := tools.New("test:keep", "Keep.",
				func(in pathInput) []caps.Request { return []caps.Request{caps.Need("crud/write", in.Path)} },
				func(_ context.Context, _ tools.Call, in pathInput) (string, error) {
					if strings.HasPrefix(in.Value, secret) {
						panic(fmt.Sprintf("cannot keep %s", in.Value))
					}
					return "", nil
				}, tc.opts...)
			if op.IsSealed() != tc.sealed {
				t.Errorf("Sealed() = %v", op.IsSealed())
			}
			registry := new(tools.Registry)
			if err := registry.Register(op); err != nil {
				t.Fatal(err)
			}
			ledger := new(memoryLedger)
			var log strings.Builder
			g, mint := toolstest.NewGate(registry, &tools.GateOptions{Ledger: ledger, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			held := caps.Of(caps.MustCapability("w/", "crud"))
			auth := mint.Agent(owner(t, 1), "Ann", func() caps.Set { return held })
			for path, panics := range map[string]bool{"w/a": true, "o/a": false} { // allowed, denied
				_, err := g.Invoke(t.Context(), auth, tools.Invocation{
					Operation: "test:keep", Input: json.RawMessage(`{"path":"` + path + `","value":"` + secret + `"}`),
				})
				var failure *tools.PanicError
				if errors.As(err, &failure) != panics {
					t.Fatalf("%s: %v", path, err)
				}
				if panics && strings.Contains(err.Error()+log.String(), secret) == tc.sealed {
					t.Errorf("the panic is told as %v, and logged as %s", err, log.String())
				}
			}
			for _, e := range ledger.entries {
				if (e.Input != nil) != tc.digested {
					t.Errorf("the row of %s, %s, has a digest of %q", e.Operation, e.Verdict, e.Input)
				}
			}
			if len(ledger.entries) != 2 {
				t.Errorf("%d rows, want 2", len(ledger.entries))
			}
		})
	}
}
