//go:build linux || darwin

package cli_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// background are commands of scripts that run on, by name, while others run:
//
//	start NAME program args...    starts one
//	says NAME regexp              waits until it has printed what matches, after what was seen before
//	answer                        lets the model go on that waits, being asked for something slowly or at leisure
//	ends NAME SIGNAL [STATUS]     sends it a signal, where that is not -, and waits for its end
var background = map[string]func(*testscript.TestScript, bool, []string){
	"start": func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) < 2 {
			ts.Fatalf("usage: start NAME program args...")
		}
		p := &process{cmd: exec.Command("/bin/sh", append([]string{"-c", `exec "$@"`, "sh"}, args[1:]...)...)}
		p.more = sync.NewCond(&p.mu)
		p.cmd.Dir = ts.MkAbs(".")
		for _, name := range []string{"HOME", "PATH", "TMPDIR", "GOCOVERDIR", "TZ", "WORK", "MODEL"} {
			p.cmd.Env = append(p.cmd.Env, name+"="+ts.Getenv(name))
		}
		out, in, err := os.Pipe()
		ts.Check(err)
		p.cmd.Stdout, p.cmd.Stderr = in, in
		ts.Check(p.cmd.Start())
		in.Close()
		p.reading.Go(func() { p.read(out) })
		ts.Defer(func() {
			_ = p.cmd.Process.Kill()
			_ = p.wait()
		})
		processes(ts)[args[0]] = p
	},
	// keep NAME FILE PATTERN keeps what the parentheses of the pattern take out of a file,
	// as a variable.
	"keep": func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 3 {
			ts.Fatalf("usage: keep NAME FILE PATTERN")
		}
		found := regexp.MustCompile(args[2]).FindStringSubmatch(ts.ReadFile(args[1]))
		if len(found) != 2 {
			ts.Fatalf("%s has nothing that fits %s", args[1], args[2])
		}
		ts.Setenv(args[0], found[1])
	},
	// note NAME PROCESS PATTERN keeps what the parentheses of the pattern take out of all that
	// a process has said, as a variable.
	"note": func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 3 {
			ts.Fatalf("usage: note NAME PROCESS PATTERN")
		}
		p := processes(ts)[args[1]]
		p.mu.Lock()
		found := regexp.MustCompile(args[2]).FindStringSubmatch(p.text)
		p.mu.Unlock()
		if len(found) != 2 {
			ts.Fatalf("%s has said nothing that fits %s", args[1], args[2])
		}
		ts.Setenv(args[0], found[1])
	},
	// http STATUS METHOD URL [BODY] makes a request as who bears $TOKEN, or as nobody, and
	// keeps its answer in the file answer.
	"http": func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) < 3 {
			ts.Fatalf("usage: http STATUS METHOD URL [BODY]")
		}
		req, err := http.NewRequestWithContext(context.Background(), args[1], args[2], strings.NewReader(strings.Join(args[3:], "")))
		ts.Check(err)
		if token := ts.Getenv("TOKEN"); token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		client := &http.Client{Transport: new(http.Transport), Timeout: patience}
		defer client.CloseIdleConnections()
		resp, err := client.Do(req)
		ts.Check(err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs("answer"), append(body, '\n'), 0o600))
		if strconv.Itoa(resp.StatusCode) != args[0] {
			ts.Fatalf("%s %s answers %d: %s", args[1], args[2], resp.StatusCode, body)
		}
	},
	"answer": func(ts *testscript.TestScript, _ bool, _ []string) {
		select {
		case ts.Value(modelKey{}).(*model).goOn <- struct{}{}:
		case <-time.After(patience):
			ts.Fatalf("the model does not wait")
		}
	},
	"says": func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 2 {
			ts.Fatalf("usage: says NAME regexp")
		}
		p := processes(ts)[args[0]]
		if text, ok := p.see(regexp.MustCompile("(?m)" + args[1])); !ok {
			ts.Fatalf("%s ended, or says no more than\n%s", args[0], text)
		}
	},
	"ends": func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) < 2 {
			ts.Fatalf("usage: ends NAME SIGNAL [STATUS]")
		}
		p := processes(ts)[args[0]]
		signals := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL, "HUP": syscall.SIGHUP, "-": 0}
		ts.Check(p.cmd.Process.Signal(signals[args[1]]))
		want := "exit status 0"
		if len(args) > 2 {
			want = args[2]
		}
		got := "exit status 0"
		if err := p.wait(); err != nil {
			got = err.Error()
		}
		ts.Logf("%s said\n%s", args[0], p.text)
		if got != want {
			ts.Fatalf("%s ended with %s, want %s", args[0], got, want)
		}
	},
}

type (
	processesKey struct{}
	modelKey     struct{}
)

// prepare has a script find a model at $MODEL.
func prepare(t *testing.T, e *testscript.Env) error {
	m := newModel(t)
	e.Values[processesKey{}], e.Values[modelKey{}] = make(map[string]*process), m
	e.Setenv("MODEL", m.URL+"/v1")
	e.Setenv("GOGC", os.Getenv("GOGC"))
	return nil
}

func processes(ts *testscript.TestScript) map[string]*process {
	return ts.Value(processesKey{}).(map[string]*process)
}

// process is a command that runs while others do.
type process struct {
	cmd     *exec.Cmd
	reading sync.WaitGroup
	ended   sync.Once
	err     error

	mu   sync.Mutex
	more *sync.Cond
	text string
	seen int
	over bool
}

func (p *process) wait() error {
	p.ended.Do(func() {
		p.err = p.cmd.Wait()
		p.reading.Wait()
	})
	return p.err
}

func (p *process) read(out io.ReadCloser) {
	defer out.Close()
	for buf := make([]byte, 4096); ; {
		n, err := out.Read(buf)
		p.mu.Lock()
		p.text += string(buf[:n])
		p.over = err != nil
		p.more.Broadcast()
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// see waits until something matches.
func (p *process) see(want *regexp.Regexp) (text string, ok bool) {
	late := false
	timer := time.AfterFunc(patience, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		late = true
		p.more.Broadcast()
	})
	defer timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if at := want.FindStringIndex(p.text[p.seen:]); at != nil {
			p.seen += at[1]
			return "", true
		}
		if p.over || late {
			return p.text[p.seen:], false
		}
		p.more.Wait()
	}
}
