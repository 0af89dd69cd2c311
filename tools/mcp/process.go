package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"

	"usher/caps/value"
)

// Times that a process is given.
const (
	writeTime = 10 * time.Second // to read what it is sent
	leaveTime = 2 * time.Second  // to end by itself, and again after it was told to
)

// inherited are the variables of this process that a server gets: where programs and
// their files are, and no key of anybody's.
var inherited = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "TZ", "TMPDIR",
	"SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "TEMP", "TMP", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "PROGRAMFILES",
}

// process is the command of a server, with its standard streams.
type process struct {
	cmd    *exec.Cmd
	in     *os.File // what it reads
	out    io.Reader
	outEnd *os.File
	exited chan struct{} // closed once it has
	once   sync.Once
}

// start starts the command of the server. Texts of env have no handles any more; hide
// takes secrets out of what goes to the log, and to said.
func (s *Server) start(env map[string]string, hide func(string) string, log *slog.Logger, said *lastWords) (*process, error) {
	cmd := exec.Command(s.Command[0], s.Command[1:]...) //nolint:gosec,noctx // whoever configures the venue says what it runs; it outlives the call that starts it
	cmd.Dir = s.Dir
	for _, name := range inherited {
		if text, set := os.LookupEnv(name); set {
			cmd.Env = append(cmd.Env, name+"="+text)
		}
	}
	for name, text := range env {
		cmd.Env = append(cmd.Env, name+"="+text)
	}
	cmd.WaitDelay = leaveTime // a child of it may hold its streams
	alone(cmd)
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	from, to, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, read.Close(), write.Close())
	}
	cmd.Stdin, cmd.Stdout = read, to
	cmd.Stderr = &lines{log: log, said: said, server: s.ID, hide: hide, limit: rate.NewLimiter(20, 200), bytes: rate.NewLimiter(maxNoise, maxNoise)}
	err = cmd.Start()
	_, _ = read.Close(), to.Close()
	if err != nil {
		_, _ = write.Close(), from.Close()
		return nil, fmt.Errorf("start %s: %w", s.Command[0], err)
	}
	p := &process{cmd: cmd, in: write, out: &sparse{Reader: slowDown(from)}, outEnd: from, exited: make(chan struct{})}
	go func() { // ends with the process, which Close ends
		err := cmd.Wait()
		log.Info("the process of an MCP server has ended", "server", s.ID, "state", cmd.ProcessState.String(), "error", err)
		close(p.exited)
	}()
	return p, nil
}

// transport speaks with the process.
func (p *process) transport() sdk.Transport {
	return &sdk.IOTransport{Reader: io.NopCloser(p.out), Writer: p, MaxLineLength: maxMessage}
}

// Write fails where the process does not read in time: nobody waits for it for ever.
func (p *process) Write(b []byte) (int, error) {
	_ = p.in.SetWriteDeadline(time.Now().Add(writeTime)) // where pipes have none, it waits
	return p.in.Write(b)
}

// Close ends the process: it is asked to by the end of its input, then told to, and in
// the end killed, with the processes that it started.
func (p *process) Close() error {
	p.once.Do(func() {
		_ = p.in.Close()
		for _, step := range []func(*exec.Cmd){nil, terminate, kill} {
			if step != nil {
				step(p.cmd)
			}
			select {
			case <-p.exited:
				_ = p.outEnd.Close()
				return
			case <-time.After(leaveTime):
			}
		}
		_ = p.outEnd.Close()
	})
	return nil
}

// Bounds of what a server sends.
const (
	maxMessage = 16 << 20 // bytes of one message
	maxRate    = 500      // messages a second, in the long run
	maxBurst   = 2000     // messages at once
	maxBytes   = 32 << 20 // bytes a second
)

// slow reads lines no faster than they may come, so that a server that floods waits.
type slow struct {
	io.Reader
	limit, bytes *rate.Limiter
}

func slowDown(r io.Reader) io.Reader {
	return &slow{r, rate.NewLimiter(maxRate, maxBurst), rate.NewLimiter(maxBytes, maxBytes)}
}

func (s *slow) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p[:min(len(p), 32<<10)])
	if wait := s.bytes.WaitN(context.Background(), n); wait != nil {
		return n, wait
	}
	for lines := bytes.Count(p[:n], []byte{'\n'}); lines > 0; {
		part := min(lines, maxBurst)
		if wait := s.limit.WaitN(context.Background(), part); wait != nil {
			return n, wait
		}
		lines -= part
	}
	return n, err
}

// lastWords are the last lines that a server wrote on its standard error.
type lastWords struct {
	mu    sync.Mutex
	lines []string
}

// maxWords is how many lines are kept.
const maxWords = 10

func (w *lastWords) add(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines[max(0, len(w.lines)-maxWords+1):], line)
}

func (w *lastWords) list() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.lines)
}

// lines writes what a server says on its standard error to the log, a line each.
type lines struct {
	log    *slog.Logger
	said   *lastWords
	server string
	hide   func(string) string
	limit  *rate.Limiter
	bytes  *rate.Limiter
	part   []byte
	left   int // lines that were left out
}

const (
	maxLine  = 2 << 10 // bytes of a line of the log
	maxNoise = 1 << 20 // bytes a second on its standard error: one that says more waits
)

func (l *lines) Write(b []byte) (int, error) {
	for rest := len(b); rest > 0; rest -= maxNoise {
		if err := l.bytes.WaitN(context.Background(), min(rest, maxNoise)); err != nil {
			return 0, err
		}
	}
	for _, c := range b {
		if c != '\n' {
			if len(l.part) < 2*maxLine { // a secret at the end of what is logged is whole
				l.part = append(l.part, c)
			}
			continue
		}
		text := value.Cut(strings.TrimSpace(l.hide(strings.ToValidUTF8(string(l.part), "\ufffd"))), maxLine)
		if text != "" {
			l.said.add(text)
		}
		switch {
		case text == "":
		case !l.limit.Allow():
			l.left++
		default:
			l.log.Info("an MCP server says", "server", l.server, "line", text, "left_out", l.left)
			l.left = 0
		}
		l.part = l.part[:0]
	}
	return len(b), nil
}
