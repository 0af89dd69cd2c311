package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"usher/runtime"
	"usher/venue"
	"usher/venue/config"
	"usher/venue/venuetest"
)

// openHooks opens a venue that tells a URL of its runs.
func openHooks(ctx context.Context, dir, url, more string, log *slog.Logger, idle bool) (*venue.Venue, *venue.User, error) {
	c, err := config.Parse("usher.yaml", fmt.Appendf(nil, `
agents: [{id: clerk, caps: []}]
webhooks:
  out: [{id: ops, url: '%s', secret: 'secret:HOOK', events: [run.completed]%s}]
`, url, more))
	if err != nil {
		return nil, nil, err
	}
	v, err := venue.Open(ctx, &venue.Options{Dir: dir, Config: c, Models: map[string]runtime.Model{"default": venuetest.Says("hi")}, Logger: log, Idle: idle})
	if err != nil {
		return nil, nil, err
	}
	owner, err := v.User(ctx, "owner")
	if err == nil {
		err = owner.SetSecret(ctx, "HOOK", secret)
	}
	return v, owner, err
}

const (
	hookDir   = "USHER_HOOKS_CHILD"
	childChat = `{"agentId":"clerk","message":"hi"}`
)

// TestHooksChild is the process that is killed, where another test starts it.
func TestHooksChild(t *testing.T) {
	dir := os.Getenv(hookDir)
	if dir == "" {
		return
	}
	_, owner, err := openHooks(t.Context(), dir, "https://ops.example/", "", nil, true)
	if err == nil {
		_, err = owner.Invoke(t.Context(), "agent:chat", json.RawMessage(childChat))
	}
	fmt.Println("ended:", err)
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
}

// receiver takes requests that are signed.
func receiver(t *testing.T) (url string, bodies chan string) {
	t.Helper()
	bodies = make(chan string, 8)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		signer, wrong := standardwebhooks.NewWebhook(secret)
		if err == nil && wrong == nil {
			err = signer.Verify(raw, r.Header)
		}
		if err != nil {
			t.Error(err)
		}
		bodies <- string(raw)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, bodies
}

// What ended before a process was killed is told when the venue is opened the next time.
func TestToldAfterAKill(t *testing.T) {
	dir := t.TempDir()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHooksChild$")
	child.Env = append(os.Environ(), hookDir+"="+dir)
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "ended: <nil>" {
		t.Errorf("the other process says %q, %v", line, err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	url, bodies := receiver(t)
	v, owner, err := openHooks(t.Context(), dir, url, ", allow_private: true", nil, false)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	list, _, err := owner.Runs(t.Context(), "", 1)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	select {
	case body := <-bodies:
		if !strings.Contains(body, `"run":"`+list[0].ID+`"`) || !strings.Contains(body, `"type":"run.completed"`) {
			t.Errorf("it is told %s, and the run is %+v", body, list[0])
		}
	case <-time.After(time.Minute):
		t.Error("nobody is told")
	}
}

// lines are those of a log.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	select {
	case l <- string(p):
	default:
	}
	return len(p), nil
}

// A URL leads nowhere private, unless the configuration says so.
func TestPrivateURLs(t *testing.T) {
	url, bodies := receiver(t)
	log := make(lines, 64)
	v, owner, err := openHooks(t.Context(), "", url, "", slog.New(slog.NewTextHandler(log, nil)), false)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if _, err := owner.Invoke(t.Context(), "agent:chat", json.RawMessage(childChat)); err != nil {
		t.Fatal(err)
	}
	for late := time.After(time.Minute); ; {
		select {
		case line := <-log:
			if strings.Contains(line, "its address is private") {
				return
			}
		case body := <-bodies:
			t.Fatalf("it is told %s", body)
		case <-late:
			t.Fatal("nothing is tried")
		}
	}
}
