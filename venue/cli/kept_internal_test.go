//go:build linux || darwin

package cli

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"usher/venue/cli/socket"
)

// The command's files, variables and local time are those of the place where it was
// typed.
func TestPlace(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("there"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("NO_COLOR", "1")
	t.Setenv("TZ", "UTC")
	e := &errand{Dir: []byte(dir), Vars: map[string][]byte{"TERM": []byte("dumb")}, Zone: []byte("Asia/Kathmandu"), Zoned: true}
	p := e.place(os.Getpid())
	if raw, err := p.readFile("file"); err != nil || string(raw) != "there" {
		t.Errorf("file has %q, %v", raw, err)
	}
	if _, err := p.readFile("nothing"); err == nil || err.Error() != "open nothing: no such file or directory" {
		t.Errorf("nothing: %v", err)
	}
	if _, err := p.create("file", 0o600); !os.IsExist(err) || !p.exists("file") || p.exists("nothing") {
		t.Errorf("create what is there: %v", err)
	}
	if p.getenv("TERM") != "dumb" || p.getenv("NO_COLOR") != "" {
		t.Error("the variables are another process's")
	}
	if got := p.minute(time.Unix(0, 0)); got != "1970-01-01 05:30" {
		t.Errorf("the time is %s", got)
	}
	for name, want := range map[string]string{"": "UTC", ":Europe/Vienna": "Europe/Vienna", "No/Where": "UTC", "Local": "UTC"} {
		if got := zoneOf(name, true).String(); got != want {
			t.Errorf("TZ %q is %s, want %s", name, got, want)
		}
	}
	if whole, err := p.own("/dev/fd/7"); err == nil && whole != "/proc/"+filepath.Base(filepath.Dir(filepath.Dir(whole)))+"/fd/7" {
		t.Errorf("/dev/fd/7 is %s", whole)
	}
	if name, err := p.at("/dev/stdin"); err == nil && !strings.HasSuffix(name, "/fd/0") {
		t.Errorf("/dev/stdin is %s", name)
	}
}

// keeper answers a socket in a folder of its own as usher up does, for a venue that is
// not there.
func keeper(t *testing.T, room int) (dir string, k *upVenue, log *bytes.Buffer) {
	t.Helper()
	dir, err := os.MkdirTemp("", "u") // t.TempDir is longer than a socket's path may be
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "usher.yaml")
	if err := os.WriteFile(file, []byte("store: .\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	log = new(bytes.Buffer)
	k = &upVenue{program: new(Program), dir: dir, file: file, log: slog.New(slog.NewTextHandler(log, nil)), errands: make(chan struct{}, room)}
	l, err := socket.Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	ctx := t.Context()
	serving.Go(func() {
		if err := k.serve(ctx, l); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		serving.Wait()
		_ = os.RemoveAll(dir)
	})
	return dir, k, log
}

// shows runs a command whose streams are files, and returns what it says.
func shows(t *testing.T, args ...string) (status int, said string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	none, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer none.Close()
	status = (&Program{Stdin: none, Stdout: w, Stderr: w}).Run(t.Context(), args)
	w.Close()
	raw, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return status, string(raw)
}

// A command that panics is told so, and takes nothing else with it.
func TestAPanicIsTold(t *testing.T) {
	dir, _, log := keeper(t, 4) // the venue that it looks for is nil
	for range 2 {
		status, said := shows(t, "agents", "list", "-c", filepath.Join(dir, "usher.yaml"))
		if status != ExitFailed || !strings.Contains(said, "usher: the command failed inside (panic: ") {
			t.Errorf("status %d: %s", status, said)
		}
	}
	if !strings.Contains(log.String(), "a command panicked") {
		t.Errorf("the log has %q", log)
	}
}

func TestWhatIsNotRunForOthers(t *testing.T) {
	full, _, _ := keeper(t, 0)
	if status, said := shows(t, "agents", "list", "-c", filepath.Join(full, "usher.yaml")); status != ExitFailed || !strings.Contains(said, "runs 64 commands already") {
		t.Errorf("one more than there is room for: status %d: %s", status, said)
	}
	dir, k, _ := keeper(t, 1)
	file := filepath.Join(dir, "usher.yaml")
	for _, tt := range []struct {
		name   string
		errand errand
		want   string
	}{
		{"a command that opens no venue", errand{Args: [][]byte{[]byte("up")}, Data: []byte(dir), Config: []byte(file)}, "usher up is not for another process to run"},
		{"another folder", errand{Args: [][]byte{[]byte("agents"), []byte("list")}, Data: []byte("/elsewhere"), Config: []byte(file)}, "was asked for /elsewhere"},
		{"another configuration", errand{Args: [][]byte{[]byte("agents"), []byte("list")}, Data: []byte(dir), Config: []byte("/other.yaml")}, "this command names /other.yaml"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			status := k.run(t.Context(), &tt.errand, &client{kept: k, keyboard: keyboard{leave: func() {}}}, []*os.File{w, w, w}, os.Getpid())
			w.Close()
			raw, err := io.ReadAll(r)
			if err != nil || status == ExitOK || !strings.Contains(string(raw), tt.want) {
				t.Errorf("status %d: %s, %v", status, raw, err)
			}
		})
	}
}

// Another version of usher, or one that says nothing, is told.
func TestAnotherVersion(t *testing.T) {
	for name, hello := range map[string]greeting{
		"an older program": {Protocol: protocol, Version: "v0.0.1"},
		"another protocol": {Protocol: protocol + 1, Version: version()},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Chmod(dir, 0o755); err != nil { // so that its path may be long
				t.Fatal(err)
			}
			file := filepath.Join(dir, "usher.yaml")
			if err := os.WriteFile(file, []byte("store: .\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			l, err := socket.Listen(dir)
			if err != nil {
				t.Fatal(err)
			}
			var serving sync.WaitGroup
			serving.Go(func() {
				c, err := l.Accept()
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				_ = c.Send(hello)
				var e errand
				if _, err := c.Receive(&e); err == nil {
					t.Error("a command is handed over")
				}
			})
			status, said := shows(t, "agents", "list", "-c", file)
			if status != ExitFailed || !strings.Contains(said, "keeps "+dir+" and is usher "+hello.Version) {
				t.Errorf("status %d: %s", status, said)
			}
			serving.Wait()
			_ = l.Close()
		})
	}
}
