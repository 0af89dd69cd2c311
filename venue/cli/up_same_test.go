//go:build linux || darwin

package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"

	"usher/venue/cli"
)

const twoAgents = `name: test
user: me
store: .usher
models: {default: {provider: offline}}
data: [{path: w/docs/policy, value: strict}]
agents:
  - {id: clerk, tools: [covia:read, covia:write], caps: [{with: w/notes/, can: crud}, {with: w/rules, can: crud/read}]}
  - {id: reader, description: Reads., tools: [covia:read], caps: [{with: w/, can: crud/read}]}
`

// changing is what differs between two venues: ids, keys, hashes, times.
var changing = []*regexp.Regexp{
	regexp.MustCompile(`\b01[0-9A-HJKMNP-TV-Z]{24}\b`),
	regexp.MustCompile(`\bz[1-9A-HJ-NP-Za-km-z]{40,}\b`),
	regexp.MustCompile(`\b(bafy|zdpu)[0-9A-Za-z]+\b`),
	regexp.MustCompile(`\b[0-9a-f]{64}\b`),
	regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?`),
	regexp.MustCompile(`"(created|updated|time|began|last|at)": ?\d+`),
	regexp.MustCompile(`"(digest|input_digest|key)": ?"[^"]+"`),
}

func settled(text string, dir string) string {
	text = strings.ReplaceAll(text, dir, "DIR")
	for _, re := range changing {
		text = re.ReplaceAllString(text, "#")
	}
	return text
}

// outcome is all that a command shows.
type outcome struct {
	Out, Err string
	Status   string
}

func ran(t *testing.T, dir, in string, change func(*exec.Cmd), args ...string) outcome {
	t.Helper()
	cmd := exec.Command("usher", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TZ=Asia/Kathmandu")
	cmd.Stdin = strings.NewReader(in)
	var out, notes bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &notes
	if change != nil {
		change(cmd)
	}
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return outcome{settled(out.String(), dir), settled(notes.String(), dir), cmd.ProcessState.String()}
}

// ranIn is what a command shows that this process runs, in the folder.
func ranIn(t *testing.T, dir, in string, args []string) outcome {
	t.Helper()
	t.Chdir(dir)
	t.Setenv("TZ", "Asia/Kathmandu")
	var files [3]*os.File // files can be handed over
	for i := range files {
		f, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files[i] = f
	}
	if _, err := files[0].WriteAt([]byte(in), 0); err != nil {
		t.Fatal(err)
	}
	status := (&cli.Program{Stdin: files[0], Stdout: files[1], Stderr: files[2]}).Run(t.Context(), args)
	var shown [2]string
	for i, f := range files[1:] {
		raw, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		shown[i] = settled(string(raw), dir)
	}
	return outcome{shown[0], shown[1], fmt.Sprintf("exit status %d", status)}
}

// A command shows the same whether it opens the venue itself or has it from the
// process that keeps it.
func TestCommandsShowTheSameWhileTheVenueIsUp(t *testing.T) {
	alone, up := filepath.Dir(project(t, twoAgents)), filepath.Dir(project(t, twoAgents))
	for _, dir := range []string{alone, up} {
		if err := os.WriteFile(filepath.Join(dir, "value"), []byte("from a file\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	keep(t, up)
	for _, tt := range []struct{ in, args string }{
		{"", "agents list"},
		{"", "agents list --json"},
		{"", "agents show clerk"},
		{"", "agents show nobody"},
		{"", "run clerk --json remember"},
		{"write w/notes/a one", "run clerk"},
		{"write w/rules none", "run clerk -"},
		{"write w/notes/b two\n/caps\n/history\nwrite w/audits/x y\n", "chat clerk"},
		{"", "sessions list clerk"},
		{"", "sessions show clerk main"},
		{"", "sessions show clerk nothing"},
		{`{"path":"w/notes/a"}`, "invoke covia:read -"},
		{"", `invoke covia:read {"pth":"x"}`},
		{"", "invoke covia:write @value"},
		{"", "invoke covia:write @nothing"},
		{"", `invoke grid:invoke {"operation":"covia:read","input":{"path":"w/notes/a"}}`},
		{"", "runs list"},
		{"", "runs show nothing"},
		{"", "agents suspend reader"},
		{"", "run reader hello"},
		{"", "agents resume reader --json"},
		{"", "agents delete reader"},
		{"", "run reader hello"},
		{"", "agents create reader --overwrite"},
		{"", `agents create helper --spec {"caps":[{"with":"w/","can":"crud/raed"}]}`},
		{"hush", "secrets set KEY"},
		{"", "secrets set KEY hush"},
		{"", "secrets set OTHER --from value"},
		{"", "secrets list"},
		{"", "secrets delete OTHR"},
		{"", "ucan whoami"},
		{"", "ucan issue --audience did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK --cap crud/read --ttl 1h"},
		{"", "ucan list"},
		{"", "audit list --denied"},
		{"", "audit list --json --limit 2"},
		{"", "audit prove 999"},
		{"", "lint"},
		{"", "agents"},
		{"", "agents list --nonsense"},
		{"", "runs list --limit 0"},
		{"", "audit export --out rows"},
		{"", "audit export --out rows"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			args := strings.SplitN(tt.args, " ", 3)
			if args[0] != "invoke" && !strings.Contains(tt.args, "{") {
				args = strings.Fields(tt.args)
			} else if strings.Contains(tt.args, "--spec") {
				args = append(strings.Fields(tt.args)[:4], tt.args[strings.Index(tt.args, "{"):])
			}
			want, got := ranIn(t, alone, tt.in, args), ranIn(t, up, tt.in, args)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-alone +while it is up:\n%s", diff)
			}
		})
	}
	drawn := func(dir, columns string) string {
		keys, tty, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		defer keys.Close()
		got := make(chan string)
		go func() {
			raw, _ := io.ReadAll(keys)
			got <- string(raw)
		}()
		ran(t, dir, "", func(cmd *exec.Cmd) {
			cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
			cmd.Env = append(cmd.Env, "TERM=xterm", "NO_COLOR="+columns)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		}, "run", "clerk", "write w/rules none")
		tty.Close()
		return settled(<-got, dir)
	}
	for name, plain := range map[string]string{"in colour": "", "without": "1"} {
		want, got := drawn(alone, plain), drawn(up, plain)
		if want != got || strings.Contains(got, "\x1b[31m") != (plain == "") {
			t.Errorf("on a terminal, %s: alone\n%q\nwhile it is up\n%q", name, want, got)
		}
	}
}

// A command whose reader goes away ends as one of its own does.
func TestAReaderThatGoesAway(t *testing.T) {
	dir := filepath.Dir(project(t, twoAgents))
	keep(t, dir)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	got := ran(t, dir, "", func(cmd *exec.Cmd) { cmd.Stdout = w }, "agents", "list")
	if got.Status != "signal: broken pipe" || got.Err != "" {
		t.Errorf("agents list ended with %+v", got)
	}
}
