package venue_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
	"usher/tools/fault"
	"usher/venue"
	"usher/venue/runs"
	"usher/venue/store"
)

const (
	pointDir  = "USHER_TEST_POINT_DIR"
	pointWork = "USHER_TEST_POINT_WORK"
	pointAt   = "USHER_TEST_POINT_AT" // half commits: 2n-1 is before the n-th, 2n after it
)

// dying is an engine that kills its process at a commit point.
type dying struct {
	store.Engine
	armed atomic.Bool
	left  atomic.Int64 // half commits
}

func (d *dying) Apply(batch []store.Op) (moved string, err error) {
	d.step()
	moved, err = d.Engine.Apply(batch)
	d.step()
	return moved, err
}

func (d *dying) step() {
	if d.armed.Load() && d.left.Add(-1) == 0 {
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
		}
		select {}
	}
}

// outside is what work has effects on: files that outlive a process.
type outside struct{ dir string }

func (o outside) note(file, line string) {
	f, err := os.OpenFile(filepath.Join(o.dir, file), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(line + "\n")
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		panic(err)
	}
}

func (o outside) lines(t *testing.T, file string) (lines []string) {
	t.Helper()
	f, err := os.Open(filepath.Join(o.dir, file))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		lines = append(lines, s.Text())
	}
	return lines
}

type pays struct {
	To string `json:"to"`
}

// tools are one that pays, once a call, and one that may be called twice.
func (o outside) tools() []*tools.Operation {
	need := func(pays) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} }
	act := func(what string) func(context.Context, tools.Call, pays) (string, error) {
		return func(_ context.Context, _ tools.Call, p pays) (string, error) {
			o.note("effects", what+" "+p.To)
			return what + " " + p.To, nil
		}
	}
	within := tools.Within(caps.ScopeAbility("invoke"))
	return []*tools.Operation{
		tools.New("bank:pay", "Pay.", need, act("paid"), within),
		tools.New("bank:show", "Show.", need, act("shown"), within, tools.Idempotent()),
	}
}

// model answers by what stands in the conversation, and notes that it was asked.
func (o outside) model(agent string, answers ...[]runtime.Chunk) runtime.Model {
	return runtime.ModelFunc(func(_ context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
		n := 0
		var heard []string
		for _, m := range req.Messages {
			if m.Role == runtime.RoleAssistant {
				n++
			}
			if m.Role == runtime.RoleTool {
				heard = append(heard, m.Text)
			}
		}
		o.note("asked", fmt.Sprint(agent, " ", n))
		return func(yield func(runtime.Chunk, error) bool) {
			if n >= len(answers) {
				yield(runtime.Chunk{Text: strings.Join(heard, " | ")}, nil)
				return
			}
			for _, chunk := range answers[n] {
				if !yield(chunk, nil) {
					return
				}
			}
		}
	})
}

func ask(pairs ...string) (chunks []runtime.Chunk) {
	for i := 0; i < len(pairs); i += 2 {
		chunks = append(chunks, runtime.Chunk{Call: &runtime.CallDelta{Index: i / 2, ID: fmt.Sprint("c", i/2), Name: pairs[i], Arguments: pairs[i+1]}})
	}
	return chunks
}

func (o outside) options(dir string) *venue.Options {
	return &venue.Options{Dir: dir, Tools: o.tools(), Models: map[string]runtime.Model{
		"clerk": o.model("clerk", ask("bank_pay", `{"to":"ann"}`, "bank_show", `{"to":"ann"}`), ask("bank_pay", `{"to":"ben"}`)),
		"asker": o.model("asker", ask("bank_pay", `{"to":"ann"}`, "bank_pay", `{"to":"ben"}`)),
		"ender": o.model("ender", ask("bank_pay", `{"to":"ann"}`), ask("agent_completeTask", `{"result":{"paid":"ann"}}`)),
		"boss":  o.model("boss", ask("agent_request", `{"agentId":"clerk","input":"pay them"}`), ask("bank_pay", `{"to":"boss"}`)),
	}}
}

const pointPlan = `{"path":"o/plan","value":{"type":"orchestration","operation":{"adapter":"orchestrator","steps":[
	{"op":"bank:pay","input":{"to":["const","ann"]}},
	{"op":"bank:pay","input":{"to":["const","ben"]}},
	{"op":"bank:show","input":{"to":[0]}},
	{"op":"agent:request","input":{"agentId":["const","clerk"],"input":["concat","after ",[2]]}}
],"result":{"first":[0],"last":[3,"output"]}}}}`

// pointWorks are the works that are crashed: each with what it pays.
var pointWorks = map[string]struct {
	begin func(ctx context.Context, alice *venue.User) (run string, err error)
	pays  []string
}{
	"turn": {func(ctx context.Context, alice *venue.User) (string, error) { return startTurn(ctx, alice, "clerk") }, []string{"ann", "ben"}},
	"approval": {func(ctx context.Context, alice *venue.User) (string, error) {
		run, err := startTurn(ctx, alice, "asker")
		if err == nil {
			err = approveAll(ctx, alice, run)
		}
		return run, err
	}, []string{"ann", "ben"}},
	"task": {func(ctx context.Context, alice *venue.User) (string, error) { return startTurn(ctx, alice, "boss") }, []string{"ann", "ben", "boss"}},
	"ended": {func(ctx context.Context, alice *venue.User) (string, error) {
		return alice.Start(ctx, "agent:request", map[string]string{"agentId": "ender", "input": "pay and end"})
	}, []string{"ann"}},
	"plan": {func(ctx context.Context, alice *venue.User) (string, error) {
		return alice.Start(ctx, "o/plan", struct{}{})
	}, []string{"ann", "ben", "ann", "ben"}},
}

// approveAll allows all that a run asks about, until it has ended.
func approveAll(ctx context.Context, alice *venue.User, run string) error {
	for {
		for _, err := range alice.Events(ctx, run, 0) {
			if err != nil {
				return err
			}
		}
		rec, err := alice.Run(ctx, run)
		if err != nil || rec.Over() {
			return err
		}
		for _, id := range rec.Waits {
			if _, err := alice.Invoke(ctx, "approval:approve", map[string]string{"id": id}); err != nil && fault.Of(err) != fault.InvalidInput {
				return err
			}
		}
	}
}

func startTurn(ctx context.Context, alice *venue.User, agent string) (string, error) {
	a, err := alice.Agent(ctx, agent)
	if err != nil {
		return "", err
	}
	r, err := a.Start(ctx, "main", "work")
	if err != nil {
		return "", err
	}
	return r.ID(), nil
}

// runPointChild is the child of TestCrashAtEachCommit.
func runPointChild() bool {
	dir := os.Getenv(pointDir)
	if dir == "" {
		return false
	}
	at, err := strconv.Atoi(os.Getenv(pointAt))
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	opts := outside{dir}.options(filepath.Join(dir, "data"))
	d := new(dying)
	d.left.Store(int64(at))
	opts.Before(func(e store.Engine) store.Engine { d.Engine = e; return d })
	v, err := venue.Open(ctx, opts)
	if err != nil {
		panic(err)
	}
	alice, err := v.User(ctx, "alice")
	if err != nil {
		panic(err)
	}
	for id, held := range map[string]string{"clerk": `[{"with":"","can":"invoke"}]`, "ender": `[{"with":"","can":"invoke"}]`, "asker": `[{"with":"","can":"invoke","ask":true}]`, "boss": `[{"with":"","can":"invoke"},{"with":"g/","can":"agent/request"}]`} {
		s := spec(id, id, held)
		s.Tools = []string{"bank:pay", "bank:show", "agent:request"}
		if _, err := alice.CreateAgent(ctx, s); err != nil {
			panic(err)
		}
	}
	if _, err := alice.Invoke(ctx, "covia:write", json.RawMessage(pointPlan)); err != nil {
		panic(err)
	}
	d.armed.Store(true)
	run, err := pointWorks[os.Getenv(pointWork)].begin(ctx, alice)
	if err != nil {
		panic(err)
	}
	for _, err := range alice.Events(ctx, run, 0) {
		if err != nil {
			panic(err)
		}
	}
	d.armed.Store(false)
	fmt.Println("done")
	if err := v.Close(); err != nil {
		panic(err)
	}
	return true
}

// crashAt lets a child work until a point. It reports whether the child came to its end.
func crashAt(t *testing.T, dir, work string, point int) (done bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), pointDir+"="+dir, pointWork+"="+work, pointAt+"="+strconv.Itoa(point))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if killed := !cmd.ProcessState.Exited(); err != nil && !killed {
		t.Fatalf("point %d: the child ends with %v", point, err)
	}
	return string(out) == "done\n"
}

// A venue that is killed at any commit goes on where it was: what may be done twice is
// done, what may not is done once or reported as unknown, and no model is asked again
// for an answer that is in a log.
func TestCrashAtEachCommit(t *testing.T) {
	for _, work := range slices.Sorted(maps.Keys(pointWorks)) {
		t.Run(work, func(t *testing.T) {
			t.Parallel()
			step := rounds(1, 11)
			for point := 1; ; point += step {
				dir := t.TempDir()
				if crashAt(t, dir, work, point) {
					if point < 12 {
						t.Errorf("the work has %d points", point)
					}
					return
				}
				recovers(t, outside{dir}, work, point)
			}
		})
	}
}

// recovers opens what a crash has left, and checks what comes of it.
func recovers(t *testing.T, o outside, work string, point int) {
	t.Helper()
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s crashed at point %d: %s", work, point, fmt.Sprintf(format, args...))
	}
	opts := o.options(filepath.Join(o.dir, "data"))
	opts.Idle = true
	v, err := venue.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	alice := user(t, v, "alice")
	known := make(map[string]bool) // answers that are in a log
	begun := len(pageOfRuns(t, alice)) > 0
	for _, id := range []string{"clerk", "boss", "asker", "ender"} {
		for n := range answersOf(t, alice, id) {
			known[fmt.Sprint(id, " ", n)] = true
		}
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	before := len(o.lines(t, "asked"))
	opts.Idle = false
	if v, err = venue.Open(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	alice = user(t, v, "alice")
	texts := ""
	for settled := false; !settled; {
		settled = true
		for _, r := range pageOfRuns(t, alice) {
			if r.Status == runs.Started || r.Status == runs.Waiting {
				settled = false
			}
			if work == "approval" {
				if err := approveAll(t.Context(), alice, r.ID); err != nil {
					t.Fatal(err)
				}
			}
			for e, err := range alice.Events(t.Context(), r.ID, 0) {
				if err != nil {
					t.Fatal(err)
				}
				if done, ok := e.Event.(runtime.ToolEnd); ok {
					texts += done.Result + "\n"
				}
			}
		}
	}
	for _, r := range pageOfRuns(t, alice) {
		texts += r.Error + "\n"
		if r.Status != runs.Complete && !strings.Contains(r.Error, "unknown") {
			fail("run %s (%s %s) ends %s: %s", r.ID, r.Kind, r.Op, r.Status, r.Error)
		}
	}
	paid := make(map[string]int)
	for _, line := range o.lines(t, "effects") {
		if to, ok := strings.CutPrefix(line, "paid "); ok {
			paid[to]++
		}
	}
	want := make(map[string]int)
	for _, to := range pointWorks[work].pays {
		want[to]++
	}
	for to, n := range want {
		if paid[to] > n || begun && paid[to] < n && !strings.Contains(texts, "unknown") {
			fail("%s was paid %d times, want %d or that it is unknown:\n%s", to, paid[to], n, texts)
		}
	}
	for _, asked := range o.lines(t, "asked")[before:] {
		if known[asked] {
			fail("%s was asked again", asked)
		}
	}
}

// answersOf counts the answers in the logs of an agent.
func answersOf(t *testing.T, u *venue.User, id string) (n int) {
	t.Helper()
	a, err := u.Agent(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	sessions, err := a.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sessions {
		for e, err := range a.History(t.Context(), s.ID) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := e.Event.(runtime.ModelAnswer); ok {
				n++
			}
		}
	}
	return n
}
