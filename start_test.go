package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var question = []string{"caps", "check", "--caps", `[{"with":"w/notes/","can":"crud"}]`, "--op", "covia:delete", "--input", `{"path":"w/notes/old"}`}

// ask is the command as a process of its own, with the shortest of questions.
func ask(tb testing.TB, environment ...string) *exec.Cmd {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), os.Args[0], question...)
	cmd.Env = append(append(os.Environ(), asProgram+"=1"), environment...)
	return cmd
}

// No package that the command is made of takes its time before main begins: a
// millisecond is about what these bounds are. What is compiled or listed at
// length waits until somebody needs it.
func TestInitialisersAreLight(t *testing.T) {
	const mostBytes, mostAllocs = 200_000 * raceFactor, 2_500
	trace, err := ask(t, "GODEBUG=inittrace=1").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, trace)
	}
	lines := regexp.MustCompile(`(?m)^init (\S+) @.* (\d+) bytes, (\d+) allocs$`).FindAllStringSubmatch(string(trace), -1)
	if len(lines) < 50 || !strings.Contains(string(trace), "allow  v/ops/covia/delete") {
		t.Fatalf("%d initialisers in\n%s", len(lines), trace)
	}
	for _, line := range lines {
		bytes, errBytes := strconv.Atoi(line[2])
		allocs, errAllocs := strconv.Atoi(line[3])
		if errBytes != nil || errAllocs != nil || bytes > mostBytes || allocs > mostAllocs {
			t.Errorf("initialising %s takes %s bytes and %s allocations, want at most %d and %d: let it wait until it is needed", line[1], line[2], line[3], mostBytes, mostAllocs)
		}
	}
}

// BenchmarkStart is a question to the command, from the start of its process to
// the end.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		if out, err := ask(b).CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
}
