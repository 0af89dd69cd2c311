//go:build linux && faults

package faults

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"usher/venue/venuetest"
)

// strace is the program's path.
func strace(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("strace")
	if err != nil {
		t.Fatalf("this driver needs strace 5.3 or newer: install it, for example with apt-get install strace (%v)", err)
	}
	return path
}

// The system calls by which a store reaches its files: those that name a file or a descriptor, and
// those that name memory.
var (
	onFiles = []string{
		"openat", "write", "pwrite64", "fsync", "fdatasync", "ftruncate", "fallocate", "renameat", "unlinkat",
		"mmap", "pread64", "read", "flock", "linkat",
	}
	onMemory = []string{"munmap", "msync"}
)

var startedCall = regexp.MustCompile(`(?m)^(\d+) +([a-z0-9_]+)\(`)

// calls counts in a log how often each system call is made by the thread that makes it most: strace
// counts them by thread.
func calls(log string) map[string]int {
	byThread, most := map[string]int{}, map[string]int{}
	for _, m := range startedCall.FindAllStringSubmatch(log, -1) {
		byThread[m[1]+m[2]]++
		most[m[2]] = max(most[m[2]], byThread[m[1]+m[2]])
	}
	return most
}

// traceable is what is run under strace, each time in a copy of a project.
type traceable struct {
	name    string
	project string // that is copied
	claims  string // of it
	run     func(ctx context.Context, t *testing.T, tr trial, killed bool, wrapped ...string) ran

	dir    string         // of the copy, the same each time
	ours   []string       // strace's arguments that leave out what does not reach the data folder
	counts map[string]int // of the system calls that the thread makes which makes most of them
	share  int            // of the points that others have; each takes that many times as long
}

// traceables are a program that works, in a folder with tables, in a new one and in one of which a
// snapshot is due, and the command.
func traceables(t *testing.T) []*traceable {
	full, fullClaims := template(t, grown, false)
	bare := newProject(t, filepath.Join(t.TempDir(), "project"))
	none := filepath.Join(t.TempDir(), "claims")
	if err := os.WriteFile(none, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	due := large
	due.Until = ""
	old, oldClaims := template(t, due, false)
	list := []*traceable{
		{name: "program, folder with tables", project: full, claims: fullClaims, run: program(""), share: 1},
		{name: "program, new folder", project: bare, claims: none, run: program(""), share: 1},
		{name: "program, snapshot", project: old, claims: oldClaims, run: program(large.Until), share: 4},
		{name: "command, folder with tables", project: full, claims: fullClaims, run: command, share: 1},
		{name: "command, new folder", project: bare, claims: none, run: command, share: 1},
	}
	list = slices.DeleteFunc(list, func(s *traceable) bool { return !mayBeWanted(s.name) })
	t.Setenv("GOMAXPROCS", "1") // strace counts by thread, so few are to make the calls
	for _, s := range list {
		s.dir = t.TempDir()
		s.measure(t)
	}
	return list
}

// program works so much that a segment of the journal is full, and then waits for what is said.
func program(until string) func(context.Context, *testing.T, trial, bool, ...string) ran {
	return func(ctx context.Context, t *testing.T, tr trial, killed bool, wrapped ...string) ran {
		w := work{Project: tr.project, Name: "traced", Lanes: 2, Steps: 5, Bulk: 20, Size: 300_000, Until: until}
		return begin(ctx, t, w, tr.claims, wrapped...).end(ctx, killed)
	}
}

// command writes a note by `usher run`, and claims it where the command says that it did.
func command(ctx context.Context, t *testing.T, tr trial, killed bool, wrapped ...string) ran {
	const path = "w/notes/command/n"
	note := claim{Kind: noted, Path: path, Seed: 1, Size: 40}
	args := []string{"run", "scribe", "write " + path + " " + noteText(note.Seed, note.Size)}
	cmd := self(ctx, "usher", args...)
	if len(wrapped) > 0 {
		outer := exec.CommandContext(ctx, wrapped[0], append(wrapped[1:], cmd.Args...)...)
		outer.Env, cmd = cmd.Env, outer
	}
	cmd.Dir = tr.project
	r := finish(ctx, "usher "+strings.Join(args[:2], " "), cmd)
	if strings.Contains(r.err, "✓ v/ops/covia/write") || r.status == 0 {
		f, err := os.OpenFile(tr.claims, os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.Write(append(mustJSON(note), '\n'))
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
	}
	if killed && r.crash != "" && strings.Contains(r.crash, "killed") {
		r.crash, r.status = "", 0
	}
	return r
}

// once runs it under strace, in a new copy, which the caller removes.
func (s *traceable) once(t *testing.T, killed bool, args ...string) (tr trial, log string) {
	t.Helper()
	tr = trial{project: copyProject(t, s.project, filepath.Join(s.dir, "project")), claims: filepath.Join(s.dir, "claims")}
	if err := venuetest.CopyFile(s.claims, tr.claims); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	to := filepath.Join(s.dir, "log")
	tr.before = []ran{s.run(ctx, t, tr, killed, append([]string{strace(t), "-f", "-qq", "--seccomp-bpf", "-o", to}, args...)...)}
	raw, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	return tr, string(raw)
}

func (s *traceable) remove(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(s.dir, "project")); err != nil {
		t.Fatal(err)
	}
}

// measure counts the calls of a plain run. What the process does beside the store is not the store's:
// of the calls that name a file or a descriptor, those are meant that reach the data folder.
func (s *traceable) measure(t *testing.T) {
	t.Helper()
	plain := func(args ...string) string {
		tr, log := s.once(t, false, args...)
		defer s.remove(t)
		if r := tr.before[0]; r.crash != "" || r.status != 0 {
			t.Fatalf("the plain run under strace: %s %s", r.crash, r.err)
		}
		return log
	}
	log := plain("-y", "-e", "trace="+strings.Join(slices.Concat(onFiles, onMemory), ","))
	inData := regexp.MustCompile(regexp.QuoteMeta(dataOf(filepath.Join(s.dir, "project"))) + `[^">]*`)
	for _, name := range slices.Compact(slices.Sorted(slices.Values(inData.FindAllString(log, -1)))) {
		s.ours = append(s.ours, "-P", name)
	}
	s.counts = calls(plain(append(s.ours, "-e", "trace="+strings.Join(onFiles, ","))...))
	for name, n := range calls(log) {
		if slices.Contains(onMemory, name) {
			s.counts[name] = n
		}
	}
}

// inject runs it once for each of a sample of its system calls, at which does what is given.
func (s *traceable) inject(t *testing.T, b *table, what, does string, most int) {
	t.Helper()
	missed := 0 // points that a run did not come to: threads share the work in another way each time
	for _, name := range slices.Concat(onFiles, onMemory) {
		numbers := make([]int, s.counts[name])
		for i := range numbers {
			numbers[i] = i + 1
		}
		if os.Getenv(pointsName) != "all" {
			numbers = sample(numbers, max(points(most)/s.share, 1))
		}
		for _, n := range numbers {
			point := fmt.Sprintf("%s: %s at %s %d", s.name, what, name, n)
			if !isWanted(point) {
				continue
			}
			args := []string{"-e", "trace=" + name, "-e", fmt.Sprintf("inject=%s:%s:when=%d", name, does, n)}
			if slices.Contains(onFiles, name) {
				args = append(args, s.ours...)
			}
			if tr, log := s.once(t, strings.HasPrefix(does, "signal="), args...); wasHit.MatchString(log) {
				b.add(what+" at "+name, point, tr.judge(t.Context()).keep(t, point, tr))
			} else {
				missed++
			}
			s.remove(t)
		}
	}
	if missed > 0 {
		t.Logf("%s, %s: %d more points were not reached", s.name, what, missed)
	}
}

// wasHit is what strace writes of a point that was reached.
var wasHit = regexp.MustCompile(`\(INJECTED\)|killed by SIGKILL`)
