//go:build !windows

package cli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"usher/venue/cli"
)

// model is a server on loopback that speaks the Chat Completions format. What
// it answers depends on what is said last.
type model struct {
	*httptest.Server
	goOn chan struct{} // lets "slowly" go on
}

func newModel(t *testing.T) *model {
	m := &model{goOn: make(chan struct{})}
	m.Server = httptest.NewUnstartedServer(http.HandlerFunc(m.answer))
	m.Start()
	t.Cleanup(m.Close)
	return m
}

const written = `{"choices":[{"delta":{"content":"Written."}}]}`

func (m *model) answer(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Messages []json.RawMessage }
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || len(asked.Messages) == 0 {
		return
	}
	last := string(asked.Messages[len(asked.Messages)-1])
	says := func(word string) bool { return strings.Contains(last, word) }
	send := func(chunks ...string) {
		for _, chunk := range chunks {
			fmt.Fprintf(w, "data: %s\n\n", chunk)
			_ = http.NewResponseController(w).Flush()
		}
	}
	if says("fail") {
		http.Error(w, `{"error":{"message":"no \u001b[31mluck"}}`, http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	switch {
	case strings.Contains(last, `"tool_call_id"`):
		send(written)
	case says("hang"):
		send(`{"choices":[{"delta":{"content":"I begin"}}]}`)
		<-r.Context().Done()
		return
	case says("slowly"):
		send(`{"choices":[{"delta":{"content":"first half, "}}]}`)
		if !m.waits(r) {
			return
		}
		send(`{"choices":[{"delta":{"content":"second half"}}]}`)
	case says("at leisure"):
		send(`{"choices":[{"delta":{"content":"first this, "}}]}`)
		if !m.waits(r) {
			return
		}
		send(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"covia_write","arguments":"{\"path\":\"w/notes/later\",\"value\":1}"}}]}}]}`)
	case says("end it well"):
		send(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"agent_completeTask","arguments":"{\"result\":{\"n\":1}}"}}]}}]}`)
	case says("give it up"):
		send(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"agent_failTask","arguments":"{\"reason\":\"there is no paper\"}"}}]}}]}`)
	case says("evil"):
		send(`{"choices":[{"delta":{"content":"\u001b"}}]}`, `{"choices":[{"delta":{"content":"]0;owned\u0007 \u009b31m ab\u202ecd"}}]}`)
	case says("tool"):
		send(`{"choices":[{"delta":{"reasoning_content":"Where do notes go?\nI think"}}]}`,
			`{"choices":[{"delta":{"reasoning_content":" below w/notes."}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"covia_write","arguments":"{\"path\":\"w/notes/x\","}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"value\":\"v\\u001b[2J\"}"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"covia_write","arguments":"{\"path\":\"w/rules\",\"value\":1}"}}]}}]}`)
	default:
		send(`{"choices":[{"delta":{"content":"You said something."}}]}`)
	}
	send(`{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1204,"completion_tokens":88,"prompt_tokens_details":{"cached_tokens":900}}}`, "[DONE]")
}

// waits holds an answer back until it is let go on; false is that nobody waits for it.
func (m *model) waits(r *http.Request) bool {
	select {
	case <-m.goOn:
		return true
	case <-r.Context().Done():
		return false
	}
}

// project makes a project whose clerk has this model.
func (m *model) project(t *testing.T) (dir string) {
	t.Helper()
	return filepath.Dir(project(t, fmt.Sprintf(`user: me
store: .usher
models: {default: {provider: openai, model: test, base_url: %s/v1}}
agents:
  - {id: clerk, tools: [covia:read, covia:write], caps: [{with: w/notes/, can: crud}, {with: w/rules, can: crud/read}]}
`, m.URL)))
}

// screen is a person at a terminal, on which the command runs.
type screen struct {
	t    *testing.T
	keys *os.File
	cmd  *exec.Cmd

	mu   sync.Mutex
	more *sync.Cond
	text []byte // all that was drawn
	seen int    // of it
	over bool
}

// patience is how long anything may take on a machine that has other work.
const patience = 30 * time.Second

// chat runs `usher chat clerk` on a terminal. change may send its streams elsewhere.
func chat(t *testing.T, dir string, change func(*exec.Cmd), args ...string) *screen {
	t.Helper()
	cmd := exec.Command("usher", append([]string{"chat", "clerk"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=")
	keys, tty, err := pty.Open()
	if err != nil {
		t.Fatalf("open a terminal: %v", err)
	}
	if err := pty.Setsize(keys, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if change != nil {
		change(cmd)
	}
	if cmd.Stdin != tty {
		cmd.SysProcAttr.Ctty = 2
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	s := &screen{t: t, keys: keys, cmd: cmd}
	s.more = sync.NewCond(&s.mu)
	var watching sync.WaitGroup
	watching.Go(s.watch)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		watching.Wait()
		keys.Close()
	})
	return s
}

func (s *screen) watch() {
	buf := make([]byte, 4096)
	for {
		n, err := s.keys.Read(buf)
		s.mu.Lock()
		s.text = append(s.text, buf[:n]...)
		s.over = err != nil
		s.more.Broadcast()
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// see waits until the text is drawn, after what was seen before.
func (s *screen) see(texts ...string) {
	s.t.Helper()
	late := false
	timer := time.AfterFunc(patience, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		late = true
		s.more.Broadcast()
	})
	defer timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range texts {
		for {
			if i := bytes.Index(s.text[s.seen:], []byte(text)); i >= 0 {
				s.seen += i + len(text)
				break
			}
			if s.over || late {
				s.t.Fatalf("%q is not seen after\n%q\nbut\n%q", text, s.text[:s.seen], s.text[s.seen:])
			}
			s.more.Wait()
		}
	}
}

// ready waits for the prompt.
func (s *screen) ready() { s.t.Helper(); s.see("\x1b[?2004h", "> ") }

func (s *screen) press(keys string) {
	s.t.Helper()
	if _, err := s.keys.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// ends waits until the command has ended.
func (s *screen) ends(want int) {
	s.t.Helper()
	timer := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	defer timer.Stop()
	_ = s.cmd.Wait()
	if got := s.cmd.ProcessState.ExitCode(); got != want {
		s.t.Errorf("exit status %d, want %d: %q", got, want, s.drawn())
	}
}

func (s *screen) drawn() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.text)
}

// keep runs `usher up` in a folder until the test ends, and returns when it is up.
func keep(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("usher", "up")
	cmd.Dir = dir
	notes, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		rest, _ := io.ReadAll(notes)
		if err := cmd.Wait(); err != nil && !strings.Contains(err.Error(), "killed") {
			t.Errorf("usher up: %v\n%s", err, rest)
		}
	})
	lines := bufio.NewReader(notes)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("usher up ended: %v", err)
		}
		if strings.Contains(line, "Ctrl-C stops it") {
			return cmd
		}
	}
}

// bothWays runs a test on a venue that the command opens, and on one that is up.
func bothWays(t *testing.T, test func(t *testing.T, m *model, dir string)) {
	for name, up := range map[string]bool{"alone": false, "while it is up": true} {
		t.Run(name, func(t *testing.T) {
			m := newModel(t)
			dir := m.project(t)
			if up {
				keep(t, dir)
			}
			test(t, m, dir)
		})
	}
}

func TestChatOnATerminal(t *testing.T) { bothWays(t, chatOnATerminal) }

func chatOnATerminal(t *testing.T, m *model, dir string) {
	s := chat(t, dir, nil)
	s.see("Talking with clerk, session main.")
	s.ready()
	s.press("slowly\r")
	s.see("first half, ")
	m.goOn <- struct{}{} // it was seen before the rest was made
	s.see("second half\r\n", "1 model call · 1,204 in (900 cached) · 88 out")
	s.ready()

	s.press("tool\r")
	s.see("waiting for the model …", "✓", "v/ops/covia/write w/notes/x v␛[2J\r\n",
		"✗", "v/ops/covia/write w/rules value=1\r\n", "Capability denied: v/ops/covia/write requires crud/write on w/rules",
		"Written.\r\n", "2 model calls · 2,408 in (1,800 cached) · 176 out")
	s.ready()

	s.press("evil\r")
	s.see("␛]0;owned␇ \ufffd31m ab\ufffdcd\r\n")
	s.ready()
	s.press("fail\r")
	s.see("usher:", "␛[31mluck")
	s.ready()
	for _, raw := range []string{"\x1b]0;", "\x07", "\u009b", "\u202e", "\x1b[2J", "\x1b[31mluck"} {
		if strings.Contains(s.drawn(), raw) {
			t.Errorf("%q of the model reached the terminal", raw)
		}
	}

	s.press("/caps\r")
	s.see("crud on w/notes/", "structural")
	s.ready()
	s.press("/nonsense\r")
	s.see("there is no command /nonsense: /help lists")
	s.ready()
	s.press("/help\r")
	s.see("/history", "Ctrl-C stops a turn")
	s.ready()
	s.press("/new\r")
	s.see("a new session, which gets its id")
	s.ready()
	s.press("hello\r")
	s.see("session 01", "waiting for the model …", "You said something.")
	s.ready()
	s.press("/session\r")
	s.see("session 01")
	s.ready()
	s.press("\x04")
	s.ends(cli.ExitOK)
}

func TestCtrlC(t *testing.T) { bothWays(t, ctrlC) }

func ctrlC(t *testing.T, _ *model, dir string) {
	s := chat(t, dir, nil)
	s.ready()
	s.press("hang\r")
	s.see("I begin")
	s.press("\x03")
	s.see("stopped")
	s.ready()
	s.press("hello\r") // the session goes on
	s.see("You said something.")
	s.ready()
	s.press("half a line\x03")
	s.ready()
	s.press("\x03")
	s.see("Ctrl-C again, or Ctrl-D, leaves")
	s.ready()
	s.press("hello\r")
	s.see("You said something.")
	s.ready()
	s.press("\x03") // counts anew
	s.see("Ctrl-C again, or Ctrl-D, leaves")
	s.ready()
	s.press("\x03")
	s.ends(cli.ExitOK)

	s = chat(t, dir, nil)
	s.see("3 turns so far, the last on ")
	s.ready()
	s.press("/history\r")
	s.see("> ", "hang", "not finished: ", "> ", "hello", "You said something.")
	s.ready()
	s.press("hang\r")
	s.see("I begin")
	s.press("\x03")
	s.see("stopped")
	s.ready()
	s.press("\x03")
	s.ends(cli.ExitOK)
	if strings.Contains(s.drawn(), "Ctrl-C again") {
		t.Errorf("the second Ctrl-C in a row does not leave: %q", s.drawn())
	}
}

func TestChatRemembersWhatWasTyped(t *testing.T) {
	m := newModel(t)
	dir := m.project(t)
	s := chat(t, dir, nil)
	s.ready()
	s.press("first\\\rline\r")
	s.see("… ", "You said something.")
	s.ready()
	s.press("\x1b[200~pasted\nlines\x1b[201~\x1b[200~\ntail\x1b[201~")
	s.see("pasted⏎lines⏎tail")
	s.press("\x01Head: \x05 end\x17END\r") // Ctrl-A, Ctrl-E, Ctrl-W
	s.see("You said something.")
	s.ready()
	s.press("\x04")
	s.ends(cli.ExitOK)
	if info, err := os.Stat(filepath.Join(dir, ".usher", "chat_history")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("chat_history: %v, %v", info, err)
	}

	s = chat(t, dir, nil, "--session", "other")
	s.ready()
	s.press("\x1b[A")
	s.see("Head: pasted⏎lines⏎tail END")
	s.press("\x1b[A")
	s.see("first⏎line")
	s.press("\x15later on\r") // Ctrl-U
	s.see("You said something.")
	s.ready()
	s.press("/history\r")
	s.see("> ", "later on\r\n")
	s.ready()
	s.press("/quit\r")
	s.ends(cli.ExitOK)
}

// SIGTERM at the prompt ends the chat, and leaves the terminal as it was.
func TestChatIsTerminated(t *testing.T) {
	s := chat(t, newModel(t).project(t), nil)
	s.ready()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.see("\x1b[?2004l", "interrupted")
	s.ends(cli.ExitFailed)
}

// What is piped gets the model's bytes, and the person still has an editor.
func TestChatIntoAPipe(t *testing.T) {
	var out bytes.Buffer
	s := chat(t, newModel(t).project(t), func(cmd *exec.Cmd) { cmd.Stdout = &out })
	s.ready()
	s.press("evil\r")
	s.see("1 model call")
	s.ready()
	s.press("tool\r")
	s.see("✗", "2 model calls")
	s.ready()
	s.press("\x04")
	s.ends(cli.ExitOK)
	if want := "\x1b]0;owned\x07 \u009b31m ab\u202ecd\nWritten.\n"; out.String() != want {
		t.Errorf("the pipe has %q, want %q", out.String(), want)
	}
}

// Nobody types what comes from a pipe: no prompt, and still nothing raw.
func TestChatFromAPipe(t *testing.T) {
	s := chat(t, newModel(t).project(t), func(cmd *exec.Cmd) { cmd.Stdin = strings.NewReader("evil\n\nhello\n/session\nfail\n") })
	s.see("␛]0;owned␇", "You said something.", "session main", "␛[31mluck")
	s.ends(cli.ExitFailed)
	for _, no := range []string{"> ", "\x1b[?2004h", "Talking with", "\x1b]0;", "/session"} {
		if strings.Contains(s.drawn(), no) {
			t.Errorf("%q is on the terminal: %q", no, s.drawn())
		}
	}
}

// What is typed while the model answers is the next message.
func TestChatTypedAhead(t *testing.T) {
	m := newModel(t)
	s := chat(t, m.project(t), nil)
	s.ready()
	s.press("slowly\r")
	s.see("first half, ")
	s.press("ahead of time\r")
	s.see("ahead of time\r\n") // the terminal's own echo
	m.goOn <- struct{}{}
	s.see("second half\r\n", "1 model call", "> ", "ahead of time", "You said something.")
	s.ready()
	s.press("/quit\r")
	s.ends(cli.ExitOK)
}

// A person behind a terminal that cannot be drawn on is still one.
func TestChatWithoutAScreen(t *testing.T) {
	s := chat(t, newModel(t).project(t), func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "TERM=dumb") })
	s.see("> ")
	s.press("hang\n")
	s.see("I begin")
	s.press("\x03")
	s.see("stopped", "> ")
	s.press("hello\n")
	s.see("You said something.", "> ")
	s.press("\x03")
	s.see("Ctrl-C again")
	s.press("\x03")
	s.ends(cli.ExitOK)
	if strings.Contains(s.drawn(), "\x1b") {
		t.Errorf("an escape sequence is on a dumb terminal: %q", s.drawn())
	}
}
