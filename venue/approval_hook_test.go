package venue_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"usher/tools/approvals"
	"usher/venue"
	"usher/venue/config"
)

// hooked asks about a call, approves it, and closes the venue. It returns the request and
// what was logged of the hook.
func hooked(t *testing.T, hook config.Hook, dir string) (req approvals.Request, logged string) {
	t.Helper()
	var mu sync.Mutex
	var text strings.Builder
	d := deskOf(t, venue.Options{
		Config: &config.Config{Approvals: config.Approvals{Hook: hook}, Dir: dir, Store: "memory"},
		Logger: slog.New(slog.NewTextHandler(writer(func(p []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			return text.Write(p)
		}), nil)),
	})
	req = d.ask(t, "w/refunds/1")
	invoke(t, d.alice, "approval:approve", `{"id":"`+req.ID+`"}`)
	if result, _ := d.ended(t, req.Run); result.Outcome != "ok" {
		t.Errorf("the call comes to %+v", result)
	}
	if err := d.v.Close(); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	return req, text.String()
}

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// statuses are those of requests, as a hook was told of them.
func statuses(t *testing.T, told []string, id string) (list []string) {
	t.Helper()
	for _, text := range told {
		var req approvals.Request
		if err := json.Unmarshal([]byte(text), &req); err != nil || req.ID != id || string(req.Input) != `{"path":"w/refunds/1","value":7}` {
			t.Errorf("the hook is told %s, %v", text, err)
		}
		list = append(list, req.Status)
	}
	return list
}

func TestAHookIsACommand(t *testing.T) {
	dir := t.TempDir()
	req, logged := hooked(t, config.Hook{Command: []string{"sh", "-c", `cat >> "$0"; echo >> "$0"`, "told"}}, dir)
	raw, err := os.ReadFile(filepath.Join(dir, "told"))
	if err != nil {
		t.Fatal(err, logged)
	}
	if got := statuses(t, strings.Split(strings.TrimSpace(string(raw)), "\n"), req.ID); !slices.Equal(got, []string{"PENDING", "APPROVED"}) {
		t.Errorf("the hook is told %q", got)
	}
}

func TestAHookIsAURL(t *testing.T) {
	var mu sync.Mutex
	var told []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if told = append(told, string(body)); err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s with %v, %v", r.Method, r.Header, err)
		}
	}))
	defer server.Close()
	req, logged := hooked(t, config.Hook{URL: server.URL}, "")
	if got := statuses(t, told, req.ID); !slices.Equal(got, []string{"PENDING", "APPROVED"}) || strings.Contains(logged, "hook") {
		t.Errorf("the hook is told %q, and logged is %s", got, logged)
	}
}

// A hook that fails, is slow or leads elsewhere is logged, changes nothing, and is not
// asked again.
func TestAHookThatFails(t *testing.T) {
	var mu sync.Mutex
	asked := make(map[string]int)
	release := make(chan struct{})
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect is followed") }))
	defer elsewhere.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.Path]++
		mu.Unlock()
		switch r.URL.Path {
		case "/fails":
			w.WriteHeader(http.StatusInternalServerError)
		case "/leads":
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		case "/slow":
			<-release
		}
	}))
	defer server.Close()
	defer close(release)
	for name, tc := range map[string]struct {
		hook config.Hook
		want string // in the log
	}{
		"it fails":           {config.Hook{URL: server.URL + "/fails"}, "it answers 500"},
		"it leads elsewhere": {config.Hook{URL: server.URL + "/leads"}, "it answers 307"},
		"it is slow":         {config.Hook{URL: server.URL + "/slow", Timeout: 100 * time.Millisecond}, "context deadline exceeded"},
		"nobody listens":     {config.Hook{URL: "http://me:hunter2@127.0.0.1:1/x"}, "connect"},
		"no such command":    {config.Hook{Command: []string{"./nothing"}}, "./nothing"},
		"a command fails":    {config.Hook{Command: []string{"sh", "-c", "echo no such person >&2; exit 3"}}, "no such person"},
		"a command is slow":  {config.Hook{Command: []string{"sh", "-c", "read x; exec sleep 60"}, Timeout: 100 * time.Millisecond}, "context deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			_, logged := hooked(t, tc.hook, t.TempDir())
			if n := strings.Count(logged, "the hook of approvals failed"); n != 2 || !strings.Contains(logged, tc.want) || strings.Contains(logged, "hunter2") {
				t.Errorf("%d failures are logged, want two with %q: %s", n, tc.want, logged)
			}
		})
	}
	mu.Lock()
	defer mu.Unlock()
	for path, n := range asked {
		if n != 2 {
			t.Errorf("%s is asked %d times, want once of the request and once of the answer", path, n)
		}
	}
}

// A change of the configuration has another hook told, and none is.
func TestAHookIsConfiguredAnew(t *testing.T) {
	dir := t.TempDir()
	with := func(file string) *config.Config {
		c := &config.Config{Dir: dir, Store: "memory"}
		if file != "" {
			c.Approvals.Hook.Command = []string{"sh", "-c", `cat > "$0"`, file}
		}
		return c
	}
	d := deskOf(t, venue.Options{Idle: true, Config: with("first")})
	for _, file := range []string{"second", ""} {
		if err := d.v.Configure(t.Context(), with(file)); err != nil {
			t.Fatal(err)
		}
		if file != "" {
			d.ask(t, "w/refunds/1")
			req := d.only(t)
			if err := d.alice.Stop(t.Context(), req.Run); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := d.v.Close(); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]bool{"first": false, "second": true} {
		if _, err := os.Stat(filepath.Join(dir, file)); (err == nil) != want {
			t.Errorf("%s: %v", file, err)
		}
	}
}
