//go:build !windows

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// onTerminal runs a command on a terminal and returns what it drew.
func onTerminal(t *testing.T, dir string, args ...string) string {
	t.Helper()
	return drawnBy(t, dir, func(c *exec.Cmd) { c.Args = append([]string{"usher"}, args...) })
}

// drawnBy is onTerminal for a command whose streams may go elsewhere.
func drawnBy(t *testing.T, dir string, change func(*exec.Cmd)) string {
	t.Helper()
	s := chat(t, dir, change)
	timer := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	defer timer.Stop()
	_ = s.cmd.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.over {
		s.more.Wait()
	}
	return string(s.text)
}

// What an agent says of itself neither acts on the terminal nor forges a row.
func TestADescriptionForgesNothing(t *testing.T) {
	dir := newModel(t).project(t)
	onTerminal(t, dir, "agents", "create", "bob", "--spec", `{"caps":[],"description":"\u009b2J\u202eevil\nroot     SLEEPING  (none)"}`)
	for _, args := range [][]string{
		{"agents", "list", "--json"},
		{"agents", "show", "bob", "--json"},
		{"agents", "list"},
		{"agents", "show", "bob"},
		{"run", "bob", "x", "--json"},
	} {
		got := onTerminal(t, dir, args...)
		if strings.Contains(got, "\u009b") || strings.Contains(got, "\u202e") {
			t.Errorf("%v: a control sequence reaches the terminal: %q", args, got)
		}
		for line := range strings.Lines(got) {
			if strings.HasPrefix(line, "root ") {
				t.Errorf("%v: a row is forged: %q", args, line)
			}
		}
	}
	if got := onTerminal(t, dir, "agents", "list"); !strings.Contains(got, "evil root") {
		t.Errorf("the description is not listed: %q", got)
	}
}

// What a server says of its tools does not act on the terminal either, where the answer goes to a
// file and only what is to be accepted is shown.
func TestWhatIsAcceptedForgesNothing(t *testing.T) {
	dir := filepath.Dir(project(t, "models: {default: {provider: offline}}\nmcp: [{id: files, command: [files-server, about]}]\n"))
	about := filepath.Join(dir, "about")
	for _, text := range []string{"reads", "reads \u009b2J\u202efiles"} {
		if err := os.WriteFile(about, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := drawnBy(t, dir, func(c *exec.Cmd) {
			c.Args = []string{"usher", "mcp", "accept", "files", "--json"}
			c.Stdout = nil
		})
		if strings.Contains(got, "\u009b") || strings.Contains(got, "\u202e") {
			t.Errorf("a control sequence reaches the terminal: %q", got)
		}
		if text != "reads" && !strings.Contains(got, "2J") {
			t.Errorf("what is accepted is not shown: %q", got)
		}
	}
}

// What stands in a configuration, in capabilities and in an input that somebody else wrote does not act
// on the terminal of whoever looks at them.
func TestWhatIsLookedAtForgesNothing(t *testing.T) {
	const evil = `\u009b2J\u202e\u001b]0;x\u0007`
	dir := filepath.Dir(project(t, `models: {default: {provider: offline}, "a`+evil+`": {provider: offline, key: plain}}
agents: [{id: bob, prompt: x, caps: [{with: w/, can: crud, when: {/value/to: {in: ["`+evil+`"]}}}]}]
`))
	held := `[{"with":"w/","can":"crud","when":{"/value/to":{"in":["` + evil + `"]}}}]`
	for _, args := range [][]string{
		{"lint"},
		{"caps", "disclose", "--caps", held},
		{"caps", "check", "--caps", held, "--op", "covia:write", "--input", `{"path":"w/a","value":{"to":"` + evil + `s"}}`},
	} {
		got := onTerminal(t, dir, args...)
		if strings.ContainsAny(got, "\u009b\u202e\a") {
			t.Errorf("%v: a control sequence reaches the terminal: %q", args, got)
		}
		if !strings.Contains(got, "2J") {
			t.Errorf("%v: it is not shown: %q", args, got)
		}
	}
}
