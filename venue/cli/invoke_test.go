package cli_test

import (
	"context"
	"io"
	"iter"
	"os"
	"strings"
	"testing"

	"usher/runtime"
	"usher/venue/cli"
)

func TestInvokeStatus(t *testing.T) {
	file := project(t, "user: me\nstore: memory\nmodels: {default: {provider: offline}}\n")
	for _, tc := range []struct {
		name, operation, input string
		want                   int
	}{
		{"done", "covia:write", `{"path":"w/a","value":1}`, cli.ExitOK},
		{"denied", "covia:write", `{"path":"g/a","value":1}`, cli.ExitFailed},
		{"failed", "secret:extract", `{"name":"K"}`, cli.ExitFailed},
		{"unknown", "covia:wirte", `{}`, cli.ExitMisuse},
		{"no object", "covia:read", `[]`, cli.ExitMisuse},
		{"no JSON", "covia:read", `w/a`, cli.ExitMisuse},
		{"two objects", "covia:read", `{"path":"w/a"} {}`, cli.ExitMisuse},
		{"no input that it takes", "covia:read", `{}`, cli.ExitMisuse},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got, _, notes := usher(t, "", "invoke", tc.operation, tc.input, "-c", file); got != tc.want {
				t.Errorf("invoke %s %s = %d, want %d\n%s", tc.operation, tc.input, got, tc.want, notes)
			}
		})
	}
}

// waiting is a model that tells when it is asked, and answers nothing until the
// turn is stopped.
type waiting chan struct{}

func (w waiting) Generate(ctx context.Context, _ *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		close(w)
		<-ctx.Done()
		yield(runtime.Chunk{}, context.Cause(ctx)) // as what asks a provider says
	}
}

// Ctrl-C ends a command that waits for a job, and the job.
func TestAJobIsStopped(t *testing.T) {
	file := project(t, "user: me\nstore: memory\nmodels: {default: {provider: test}}\nagents: [{id: clerk, caps: []}]\n")
	ctx, stop := context.WithCancel(t.Context())
	asked := make(waiting)
	go func() {
		<-asked
		stop()
	}()
	var notes strings.Builder
	status := modelled(asked, io.Discard, &notes).Run(ctx, []string{
		"invoke", "grid:invoke", `{"operation":"agent:request","input":{"agentId":"clerk","input":"hello"}}`, "-c", file,
	})
	if want := "runs: waiting for its outcome; Ctrl-C stops it\nusher: interrupted\n"; status != cli.ExitFailed || !strings.HasSuffix(notes.String(), want) {
		t.Errorf("status %d, want %d with %q: %s", status, cli.ExitFailed, want, notes.String())
	}
}

// A turn that Ctrl-C ends was cancelled, as one that a signal ends is: it has not failed.
func TestATurnThatIsInterruptedIsCancelled(t *testing.T) {
	file := project(t, "user: me\nstore: .usher\nmodels: {default: {provider: test}}\nagents: [{id: clerk, caps: []}]\n")
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	asked := make(waiting)
	go func() {
		<-asked
		if err := self.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
	}()
	var notes, list strings.Builder
	p := modelled(asked, io.Discard, &notes)
	p.Interrupts = true
	if status := p.Run(t.Context(), []string{"run", "clerk", "hello", "-c", file}); status != cli.ExitFailed || !strings.HasSuffix(notes.String(), "usher: interrupted\n") {
		t.Errorf("status %d: %s", status, notes.String())
	}
	if status := modelled(nil, &list, &notes).Run(t.Context(), []string{"runs", "list", "-c", file}); status != cli.ExitOK || !strings.Contains(list.String(), "CANCELLED") {
		t.Errorf("status %d: %s%s", status, list.String(), notes.String())
	}
}
