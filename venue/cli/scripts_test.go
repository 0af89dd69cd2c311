package cli_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"usher/venue/cli"
)

// TestScripts runs the scripts that start processes, which run on while others do.
func TestScripts(t *testing.T) {
	testscript.Run(t, scripts(t, true))
}

// TestCommands runs the scripts whose commands come one after the other. Most of them
// are run by this process, in the script's folder, so no two scripts run at once.
func TestCommands(t *testing.T) {
	testscript.RunT(oneByOne{t}, scripts(t, false))
}

// scripts are those of testdata, by whether they start processes.
func scripts(t *testing.T, starting bool) testscript.Params {
	p := testscript.Params{
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"here": here, "misused": misused},
		Setup:               func(e *testscript.Env) error { return prepare(t, e) },
	}
	maps.Copy(p.Cmds, background)
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains("\n"+string(text), "\nstart ") == starting {
			p.Files = append(p.Files, file)
		}
	}
	return p
}

// here usher args... runs a command in this process, as `exec usher` does in one of its
// own. What standard input counts for, or that the streams are files, is run by exec.
func here(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 || args[0] != "usher" {
		ts.Fatalf("usage: here usher args...")
	}
	if status := ranHere(ts, args[1:]); neg == (status == cli.ExitOK) {
		ts.Fatalf("usher exits with %d", status)
	}
}

// misused args... runs a command so, and it must exit with 2.
func misused(ts *testscript.TestScript, neg bool, args []string) {
	if status := ranHere(ts, args); neg || status != cli.ExitMisuse {
		ts.Fatalf("usher exits with %d", status)
	}
}

func ranHere(ts *testscript.TestScript, args []string) int {
	back, err := os.Getwd()
	ts.Check(err)
	ts.Check(os.Chdir(ts.MkAbs(".")))
	defer func() { ts.Check(os.Chdir(back)) }()
	for _, name := range []string{"HOME", "TMPDIR", "PATH", "WORK", "MODEL"} {
		defer setenv(name, ts.Getenv(name))()
	}
	others := goleak.IgnoreCurrent()
	status := (&cli.Program{Stdin: strings.NewReader(""), Stdout: ts.Stdout(), Stderr: ts.Stderr()}).Run(context.Background(), args)
	ts.Check(goleak.Find(others))
	return status
}

// setenv sets a variable, and returns what sets it back.
func setenv(name, value string) func() {
	old, had := os.LookupEnv(name)
	_ = os.Setenv(name, value)
	return func() {
		if had {
			_ = os.Setenv(name, old)
		} else {
			_ = os.Unsetenv(name)
		}
	}
}

// oneByOne runs one script at a time.
type oneByOne struct{ *testing.T }

func (oneByOne) Parallel()     {}
func (oneByOne) Verbose() bool { return testing.Verbose() }

func (t oneByOne) Run(name string, fn func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { fn(oneByOne{t}) })
}
