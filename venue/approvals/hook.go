package approvals

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"usher/caps/value"
	"usher/tools/approvals"
	"usher/tools/reach"
)

// Target is what a [Hook] tells: a command or a URL. The zero value is nobody.
type Target struct {
	Command []string      // reads the request as JSON from its standard input
	Dir     string        // where the command runs
	URL     string        // the request is posted there as JSON; redirects are not followed
	Timeout time.Duration // of one message; 0 is 10 s
}

const (
	maxTold    = 256 // requests that wait to be told; more are not
	hookTime   = 10 * time.Second
	hookClose  = 5 * time.Second // for all that is left when the hook closes
	maxSaid    = 1 << 10         // bytes of what a command says that are logged
	hookKilled = time.Second     // that a command may keep its output open after its end
)

// Hook tells a command or a URL of requests, one after the other and each once, and
// never holds up who asks. What fails is logged, and changes nothing.
type Hook struct {
	target atomic.Pointer[Target]
	log    *slog.Logger
	client *http.Client

	queue  chan message
	last   chan struct{} // closed when no request follows
	done   chan struct{} // closed when the hook has ended
	cancel context.CancelFunc
}

// message is a request, and who is told of it.
type message struct {
	to  *Target
	req approvals.Request
}

// NewHook returns a hook, which [Hook.Close] ends.
func NewHook(log *slog.Logger) *Hook {
	h := &Hook{
		log: log, queue: make(chan message, maxTold), last: make(chan struct{}), done: make(chan struct{}),
		client: reach.Client(nil),
	}
	h.target.Store(new(Target))
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel = cancel
	go h.run(ctx)
	return h
}

// Set has the hook tell another target from the next request on.
func (h *Hook) Set(t Target) { h.target.Store(&t) }

// Tell hands a request over. It never waits.
func (h *Hook) Tell(req approvals.Request) {
	t := h.target.Load()
	if len(t.Command) == 0 && t.URL == "" {
		return
	}
	select {
	case h.queue <- message{t, req}:
	default:
		h.log.Warn("the hook of approvals is too slow: a request is not told", "request", req.ID)
	}
}

// Close tells what is left, as far as it comes in 5 seconds, and ends the hook.
func (h *Hook) Close() {
	limit := time.AfterFunc(hookClose, h.cancel)
	defer limit.Stop()
	close(h.last)
	<-h.done
	h.cancel()
}

func (h *Hook) run(ctx context.Context) {
	defer close(h.done)
	for {
		select {
		case m := <-h.queue:
			h.say(ctx, m.to, &m.req)
		case <-h.last:
			for {
				select {
				case m := <-h.queue:
					h.say(ctx, m.to, &m.req)
				default:
					return
				}
			}
		}
	}
}

func (h *Hook) say(ctx context.Context, t *Target, req *approvals.Request) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(t.Timeout, hookTime))
	defer cancel()
	body, err := json.Marshal(req)
	switch {
	case err != nil:
	case len(t.Command) > 0:
		err = t.execute(ctx, body)
	default:
		err = reach.Post(ctx, h.client, t.URL, http.Header{"Content-Type": {"application/json"}}, body)
	}
	if err != nil {
		h.log.WarnContext(ctx, "the hook of approvals failed", "request", req.ID, "error", err)
	}
}

func (t *Target) execute(ctx context.Context, body []byte) error {
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, t.Command[0], t.Command[1:]...) // the owner's configuration names it
	cmd.Dir, cmd.Stdin, cmd.Stderr, cmd.WaitDelay = t.Dir, bytes.NewReader(body), &headWriter{&said}, hookKilled
	err := cmd.Run()
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", t.Command[0], err, strings.TrimSpace(said.String()))
	}
	return nil
}

// headWriter keeps the first of what is written.
type headWriter struct{ kept *bytes.Buffer }

func (b *headWriter) Write(p []byte) (int, error) {
	b.kept.WriteString(value.Cut(string(p), max(maxSaid-b.kept.Len(), 0)))
	return len(p), nil
}
