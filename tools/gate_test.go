package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/caps"
	"usher/tools"
	"usher/tools/fault"
	"usher/tools/toolstest"
	"usher/ucan"
)

type pathInput struct {
	Path  string `json:"path"`
	Value string `json:"value,omitempty"`
}

// writer is an operation that notes what it wrote.
func writer(wrote *[]string) *tools.Operation {
	return tools.New("test:write", "Write.",
		func(in pathInput) []caps.Request { return []caps.Request{caps.Need("crud/write", in.Path)} },
		func(_ context.Context, call tools.Call, in pathInput) (map[string]string, error) {
			*wrote = append(*wrote, in.Path)
			return map[string]string{"by": call.Actor()}, nil
		}, tools.Within(caps.ScopeUnder("crud/write", "w", 1, 0)))
}

// memoryLedger keeps entries, or fails.
type memoryLedger struct {
	mu       sync.Mutex
	entries  []tools.Entry
	outcomes []error
	broken   error
}

func (l *memoryLedger) RecordDecision(_ context.Context, e tools.Entry) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return 0, l.broken
	}
	l.entries = append(l.entries, e)
	return uint64(len(l.entries)), nil
}

func (l *memoryLedger) RecordOutcome(_ context.Context, _ uint64, failure error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outcomes = append(l.outcomes, failure)
	return nil
}

func owner(t testing.TB, seed byte) ucan.DID {
	t.Helper()
	raw := make([]byte, 32)
	raw[0] = seed
	key, err := ucan.KeyFromSeed(raw)
	if err != nil {
		t.Fatal(err)
	}
	return key.DID()
}

func gate(t testing.TB, ledger tools.Ledger, ops ...*tools.Operation) (*tools.Gate, *toolstest.Mint) {
	t.Helper()
	registry := new(tools.Registry)
	if err := registry.Register(ops...); err != nil {
		t.Fatal(err)
	}
	return toolstest.NewGate(registry, &tools.GateOptions{Ledger: ledger})
}

func fixed(list ...caps.Capability) func() caps.Set {
	set := caps.Of(list...)
	return func() caps.Set { return set }
}

func TestInvoke(t *testing.T) {
	notes := fixed(caps.MustCapability("w/notes/", "crud"))
	for _, tc := range []struct {
		name      string
		operation string
		input     string
		live      func() caps.Set
		want      string // part of the error; empty: allowed
	}{
		{"inside", "test:write", `{"path":"w/notes/a"}`, notes, ""},
		{"by catalogue path", "v/ops/test/write", `{"path":"w/notes/a"}`, notes, ""},
		{"by another spelling", "/v/ops/test/write/", `{"path":"/w/notes/a"}`, notes, ""},
		{"outside", "test:write", `{"path":"w/other"}`, notes, "Capability denied: v/ops/test/write requires crud/write on w/other"},
		{"sibling", "test:write", `{"path":"w/notes-secret"}`, notes, "Capability denied"},
		{"other spelling outside", "/v/ops/test/write", `{"path":"/w/other"}`, notes, "Capability denied: v/ops/test/write requires crud/write on w/other"},
		{"climbing", "test:write", `{"path":"w/notes/../other"}`, notes, "invalid input"},
		{"no capabilities", "test:write", `{"path":"w/notes/a"}`, fixed(), "Your capabilities are: (none)"},
		{"zero authority source", "test:write", `{"path":"w/notes/a"}`, func() caps.Set { return caps.Set{} }, "(none)"},
		{"unknown operation", "test:wirte", `{}`, caps.Unrestricted, "did you mean test:write"},
		{"not an object", "test:write", `["w/notes/a"]`, caps.Unrestricted, "not a JSON object"},
		{"not JSON", "test:write", `{"path"`, caps.Unrestricted, "not a JSON object"},
		{"a field twice", "test:write", `{"path":"w/notes/a","path":"w/other"}`, caps.Unrestricted, "twice"},
		{"a field twice in two cases", "test:write", `{"path":"w/notes/a","PATH":"w/other"}`, caps.Unrestricted, "twice"},
		{"a field in another case", "test:write", `{"PATH":"w/notes/a"}`, caps.Unrestricted, "invalid input"},
		{"an escaped field", "test:write", `{"path":"w/notes/a","\u0070ath":"w/other"}`, caps.Unrestricted, "twice"},
		{"an unknown field", "test:write", `{"path":"w/notes/a","mode":1}`, caps.Unrestricted, "invalid input"},
		{"a wrong type", "test:write", `{"path":7}`, caps.Unrestricted, "a JSON number does not fit in path: expected a string"},
		{"another user's namespace", "test:write", `{"path":"` + owner(t, 2).String() + `/w/notes/a"}`, caps.Unrestricted, "belongs to another user"},
		{"own namespace by DID", "test:write", `{"path":"` + owner(t, 1).String() + `/w/notes/a"}`, notes, ""},
		{
			"another's namespace, held as a capability", "test:write", `{"path":"` + owner(t, 2).String() + `/w/notes/a"}`,
			fixed(caps.MustCapability(owner(t, 2).String()+"/w/", "crud")), "belongs to another user",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var wrote []string
			g, mint := gate(t, nil, writer(&wrote))
			auth := mint.Agent(owner(t, 1), "bob", tc.live)
			res, err := g.Invoke(t.Context(), auth, tools.Invocation{Operation: tc.operation, Input: json.RawMessage(tc.input)})
			if tc.want == "" {
				if err != nil || string(res.Output) != `{"by":"bob"}` || len(wrote) != 1 {
					t.Fatalf("Invoke = %s, %v, wrote %v; want it to run once", res.Output, err, wrote)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Invoke error = %v, want one with %q", err, tc.want)
			}
			if len(wrote) != 0 {
				t.Errorf("the handler ran, and wrote %v", wrote)
			}
		})
	}
}

func TestAuthorityOfAnotherGate(t *testing.T) {
	var wrote []string
	g, _ := gate(t, nil, writer(&wrote))
	_, other := gate(t, nil, writer(&wrote))
	for name, auth := range map[string]tools.Authority{
		"another mint's":      other.User(owner(t, 1)),
		"the zero value":      {},
		"a mint of one's own": (&tools.Mint{}).User(owner(t, 1)),
	} {
		_, err := g.Invoke(t.Context(), auth, tools.Invocation{Operation: "test:write", Input: json.RawMessage(`{"path":"w/a"}`)})
		if fault.Of(err) != fault.ForeignAuthority {
			t.Errorf("Invoke with %s authority: %v, want %v", name, err, fault.ForeignAuthority)
		}
	}
	if len(wrote) != 0 {
		t.Errorf("the handler ran: %v", wrote)
	}
}

func TestZeroCallCanDoNothing(t *testing.T) {
	for _, call := range []tools.Call{{}, tools.Call{}.InRun("r")} {
		_, invoked := call.Invoke(t.Context(), "test:write", nil)
		_, resolved := call.Resolve(t.Context(), "test:write")
		for what, err := range map[string]error{"Invoke": invoked, "Resolve": resolved, "Again": call.Again(t.Context())} {
			if fault.Of(err) != fault.ForeignAuthority {
				t.Errorf("%s of the zero Call: %v, want %v", what, err, fault.ForeignAuthority)
			}
		}
		if !call.Owner().IsZero() || call.Actor() != "" || !call.Caps().IsEmpty() || !call.Authority().Author().IsZero() {
			t.Error("the zero Call speaks for somebody")
		}
	}
}

func TestRegisterRefuses(t *testing.T) {
	needs := func(pathInput) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} }
	run := func(context.Context, tools.Call, pathInput) (any, error) { return nil, nil }
	for _, tc := range []struct {
		name string
		op   *tools.Operation
		want string
	}{
		{"no requirements", tools.New("test:a", "", nil, run), "declares no requirements"},
		{"no requirements, at run time", tools.Define(tools.Definition{Path: "o/a", Run: func(context.Context, tools.Call, json.RawMessage) (any, error) { return nil, nil }}), "declares no requirements"},
		{"no handler", tools.New[pathInput, any]("test:a", "", needs, nil), "no handler"},
		{"no adapter in the name", tools.New("write", "", needs, run), "adapter:name"},
		{"a name with a slash", tools.New("test/write:a", "", needs, run), "adapter:name"},
		{"an input that is no struct", tools.New("test:a", "", func(string) []caps.Request { return nil }, func(context.Context, tools.Call, string) (any, error) { return nil, nil }), "not a struct"},
		{"nil", nil, "nil"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			registry := new(tools.Registry)
			good := tools.New("test:good", "", needs, run)
			err := registry.Register(good, tc.op)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Register: %v, want an error with %q", err, tc.want)
			}
			if len(registry.All()) != 0 {
				t.Error("a faulty registration left operations behind")
			}
		})
	}
	registry := new(tools.Registry)
	if err := registry.Register(tools.New("test:a", "", needs, run), tools.New("test:a", "", needs, run)); err == nil || !strings.Contains(err.Error(), "taken") {
		t.Errorf("Register of one name twice: %v, want an error", err)
	}
}

func TestRequirementsThatComeOutEmptyRunNothing(t *testing.T) {
	ran := false
	op := tools.New("test:none", "", func(pathInput) []caps.Request { return nil },
		func(context.Context, tools.Call, pathInput) (any, error) { ran = true; return nil, nil })
	g, mint := gate(t, nil, op)
	_, err := g.Invoke(t.Context(), mint.User(owner(t, 1)), tools.Invocation{Operation: "test:none", Input: json.RawMessage(`{"path":"w/a"}`)})
	if fault.Of(err) != fault.NoRequirements || ran {
		t.Errorf("Invoke = %v, ran %v; want %v and nothing run", err, ran, fault.NoRequirements)
	}
}

func TestEveryRequirementCounts(t *testing.T) {
	copies := tools.New("test:copy", "",
		func(in struct {
			From string `json:"from"`
			To   string `json:"to"`
		},
		) []caps.Request {
			return []caps.Request{caps.Need("crud/read", in.From), caps.Need("crud/write", in.To)}
		},
		func(context.Context, tools.Call, struct {
			From string `json:"from"`
			To   string `json:"to"`
		},
		) (bool, error) {
			return true, nil
		})
	g, mint := gate(t, nil, copies)
	auth := mint.Agent(owner(t, 1), "bob", fixed(caps.MustCapability("w/", "crud/read"), caps.MustCapability("w/out", "crud/write")))
	for input, want := range map[string]string{
		`{"from":"w/a","to":"w/out/a"}`: "",
		`{"from":"w/a","to":"w/a2"}`:    "requires crud/write on w/a2",
		`{"from":"o/a","to":"w/out/a"}`: "requires crud/read on o/a",
	} {
		_, err := g.Invoke(t.Context(), auth, tools.Invocation{Operation: "test:copy", Input: json.RawMessage(input)})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Invoke(%s): %v, want %q", input, err, want)
		}
	}
}

func TestCapsAreReadAtEachCall(t *testing.T) {
	var wrote []string
	g, mint := gate(t, nil, writer(&wrote))
	held := caps.Of(caps.MustCapability("w/", "crud"))
	auth := mint.Agent(owner(t, 1), "bob", func() caps.Set { return held })
	inv := tools.Invocation{Operation: "test:write", Input: json.RawMessage(`{"path":"w/a"}`)}
	if _, err := g.Invoke(t.Context(), auth, inv); err != nil {
		t.Fatal(err)
	}
	held = caps.Of(caps.MustCapability("w/", "crud/read"))
	_, err := g.Invoke(t.Context(), auth, inv)
	if _, denied := errors.AsType[*caps.Denial](err); !denied {
		t.Errorf("Invoke after narrowing: %v, want a denial", err)
	}
}

func TestDerivedAuthorityOnlyNarrows(t *testing.T) {
	_, mint := gate(t, nil)
	me := owner(t, 1)
	reads := caps.MustCapability("w/", "crud/read")
	all := caps.MustCapability("w/", "crud")
	callerCaps := caps.Of(reads)
	caller := mint.Agent(me, "dave", func() caps.Set { return callerCaps })
	carol := mint.Agent(me, "carol", fixed(all))

	bounded := carol.ByCaller(caller, false)
	if got := bounded.Caps(); !got.Equal(caps.Of(reads)) {
		t.Errorf("on behalf of a reader: %v, want %v", got, reads)
	}
	if diff := cmp.Diff([]string{"dave"}, bounded.Via()); diff != "" {
		t.Errorf("lineage (-want +got):\n%s", diff)
	}
	callerCaps = caps.Set{}
	if got := bounded.Caps(); !got.IsEmpty() {
		t.Errorf("after the caller lost everything: %v, want (none)", got)
	}
	if got := mint.User(me).Narrow(caps.Of(reads)).Caps(); !got.Equal(caps.Of(reads)) {
		t.Errorf("Narrow of an unrestricted authority: %v, want %v", got, reads)
	}
	if got := carol.ByCaller(caller, true).Caps(); !got.Equal(caps.Of(all)) {
		t.Errorf("ByCaller: %v, want the agent's own %v", got, all)
	}
	if got := (tools.Authority{}).ByCaller(mint.User(me), false).Caps(); !got.IsEmpty() {
		t.Errorf("the zero authority on behalf of a user: %v, want (none)", got)
	}
}

func TestInnerCallsAreGated(t *testing.T) {
	var wrote []string
	outer := tools.New("test:outer", "", func(struct{}) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} },
		func(ctx context.Context, call tools.Call, _ struct{}) (json.RawMessage, error) {
			res, err := call.Invoke(ctx, "test:write", json.RawMessage(`{"path":"w/secret"}`))
			return res.Output, err
		})
	ledger := new(memoryLedger)
	g, mint := gate(t, ledger, writer(&wrote), outer)
	auth := mint.Agent(owner(t, 1), "dave", fixed(caps.MustCapability("", "invoke"), caps.MustCapability("w/", "crud/read")))
	_, err := g.Invoke(t.Context(), auth, tools.Invocation{Operation: "test:outer"})
	denial, denied := errors.AsType[*caps.Denial](err)
	if !denied || denial.Operation != "v/ops/test/write" || len(wrote) != 0 {
		t.Fatalf("Invoke = %v, wrote %v; want the inner write denied", err, wrote)
	}
	verdicts := []string{}
	for _, e := range ledger.entries {
		verdicts = append(verdicts, e.Operation+" "+e.Verdict)
	}
	if diff := cmp.Diff([]string{"v/ops/test/outer allow", "v/ops/test/write deny"}, verdicts); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
}

func TestDepthIsBounded(t *testing.T) {
	deepest := 0
	recursive := tools.New("test:recurse", "", func(struct {
		N int `json:"n"`
	},
	) []caps.Request {
		return []caps.Request{caps.NeedAbility("invoke")}
	},
		func(ctx context.Context, call tools.Call, in struct {
			N int `json:"n"`
		},
		) (json.RawMessage, error) {
			deepest = in.N
			raw, _ := json.Marshal(map[string]int{"n": in.N + 1})
			res, err := call.Invoke(ctx, "test:recurse", raw)
			return res.Output, err
		})
	g, mint := gate(t, nil, recursive)
	_, err := g.Invoke(t.Context(), mint.User(owner(t, 1)), tools.Invocation{Operation: "test:recurse", Input: json.RawMessage(`{"n":1}`)})
	if !errors.Is(err, tools.ErrTooDeep) || deepest != 16 {
		t.Errorf("Invoke = %v at depth %d, want %v at 16", err, deepest, tools.ErrTooDeep)
	}
}

// However calls branch, what comes of one first call shares one budget.
func TestCallsAreCounted(t *testing.T) {
	ran, tooMany := 0, error(&tools.LimitError{Kind: tools.Calls, Limit: 50})
	branch := tools.New("test:branch", "", func(struct{}) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} },
		func(ctx context.Context, call tools.Call, _ struct{}) (bool, error) {
			ran++
			_, left := call.Invoke(ctx, "test:branch", nil)
			_, right := call.Invoke(ctx, "test:branch", nil)
			return true, errors.Join(left, right)
		})
	registry := new(tools.Registry)
	if err := registry.Register(branch); err != nil {
		t.Fatal(err)
	}
	g, mint := toolstest.NewGate(registry, &tools.GateOptions{Limits: tools.Amounts{Calls: 50}})
	_, err := g.Invoke(t.Context(), mint.User(owner(t, 1)), tools.Invocation{Operation: "test:branch"})
	if !errors.Is(err, tooMany) || ran != 50 {
		t.Errorf("Invoke ran %d calls and ended with %v, want 50 and %v", ran, err, tooMany)
	}
	if _, err := g.Invoke(t.Context(), mint.User(owner(t, 1)), tools.Invocation{Operation: "test:branch"}); !errors.Is(err, tooMany) || ran != 100 {
		t.Errorf("the next first call has a budget of its own: ran %d, %v", ran, err)
	}
}

func TestInputIsBounded(t *testing.T) {
	var wrote []string
	g, mint := gate(t, nil, writer(&wrote))
	input := json.RawMessage(`{"path":"w/a","value":"` + strings.Repeat("x", tools.MaxInput) + `"}`)
	if _, err := g.Invoke(t.Context(), mint.User(owner(t, 1)), tools.Invocation{Operation: "test:write", Input: input}); fault.Of(err) != fault.TooLarge || len(wrote) > 0 {
		t.Errorf("Invoke with %d bytes: %v, want %v", len(input), err, fault.TooLarge)
	}
}

func TestLedger(t *testing.T) {
	var wrote []string
	ledger := new(memoryLedger)
	g, mint := gate(t, ledger, writer(&wrote))
	auth := mint.Agent(owner(t, 1), "bob", fixed(caps.MustCapability("w/notes/", "crud"))).InRun("job-1").InSession("ses-1")
	for _, path := range []string{"w/notes/a", "w/other"} {
		raw, _ := json.Marshal(pathInput{Path: path})
		_, _ = g.Invoke(t.Context(), auth, tools.Invocation{Operation: "test:write", Input: raw})
	}
	want := []tools.Entry{
		{
			Owner: owner(t, 1).String(), Actor: "bob", Operation: "v/ops/test/write", Verdict: "allow", Effects: true, Job: "job-1", Session: "ses-1", Known: true,
			Needs: []tools.Requirement{{Ability: "crud/write", Resource: "w/notes/a", By: "crud on w/notes/"}},
		},
		{
			Owner: owner(t, 1).String(), Actor: "bob", Operation: "v/ops/test/write", Verdict: "deny", Effects: true, Job: "job-1", Session: "ses-1", Known: true,
			Needs:  []tools.Requirement{{Ability: "crud/write", Resource: "w/other", Unmet: true}},
			Reason: "Capability denied: v/ops/test/write requires crud/write on w/other. Your capabilities are: crud on w/notes/. Retrying the same call will not succeed — the denial is structural.",
		},
	}
	for i := range want {
		if i < len(ledger.entries) {
			want[i].Input = ledger.entries[i].Input
			if len(want[i].Input) == 0 {
				t.Errorf("entry %d has no input to make a digest of", i)
			}
		}
	}
	if diff := cmp.Diff(want, ledger.entries); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
	if !slices.Equal(ledger.outcomes, []error{nil}) {
		t.Errorf("outcomes = %v, want one success", ledger.outcomes)
	}
}

func TestWhatCannotBeRecordedDoesNotRun(t *testing.T) {
	var wrote []string
	broken := errors.New("disk full")
	g, mint := gate(t, &memoryLedger{broken: broken}, writer(&wrote))
	_, err := g.Invoke(t.Context(), mint.User(owner(t, 1)), tools.Invocation{Operation: "test:write", Input: json.RawMessage(`{"path":"w/a"}`)})
	if !errors.Is(err, broken) || len(wrote) != 0 {
		t.Errorf("Invoke = %v, wrote %v; want %v and nothing run", err, wrote, broken)
	}
}

func TestPanicBecomesAnError(t *testing.T) {
	op := tools.New("test:panic", "", func(struct{}) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} },
		func(context.Context, tools.Call, struct{}) (any, error) { panic("boom") })
	ledger := new(memoryLedger)
	g, mint := gate(t, ledger, op)
	_, err := g.Invoke(t.Context(), mint.User(owner(t, 1)), tools.Invocation{Operation: "test:panic"})
	var failed *tools.PanicError
	if !errors.As(err, &failed) || len(ledger.outcomes) != 1 || ledger.outcomes[0] == nil {
		t.Errorf("Invoke = %v with outcomes %v, want a recorded *PanicError", err, ledger.outcomes)
	}
}

func TestHandOnIsARequirement(t *testing.T) {
	g, mint := gate(t, nil, tools.New("test:give", "",
		func(in struct {
			Caps caps.Declaration `json:"caps"`
		},
		) []caps.Request {
			set, _ := in.Caps.Set()
			needs := []caps.Request{caps.NeedAbility("invoke")}
			for c := range set.All() {
				needs = append(needs, caps.NeedHolding(c))
			}
			return needs
		},
		func(context.Context, tools.Call, struct {
			Caps caps.Declaration `json:"caps"`
		},
		) (bool, error) {
			return true, nil
		}))
	auth := mint.Agent(owner(t, 1), "dave", fixed(caps.MustCapability("", "invoke"), caps.MustCapability("w/a", "crud/read")))
	for input, want := range map[string]string{
		`{"caps":[{"with":"w/a/b","can":"crud/read"}]}`: "",
		`{"caps":[{"with":"w/","can":"crud/read"}]}`:    "at most what it holds",
		`{"caps":[{"with":"w/a","can":"crud"}]}`:        "at most what it holds",
		`{"caps":[{"with":"w/a","can":"*"}]}`:           "at most what it holds",
		`{"caps":[{"with":"","can":"crud/read"}]}`:      "at most what it holds",
	} {
		_, err := g.Invoke(t.Context(), auth, tools.Invocation{Operation: "test:give", Input: json.RawMessage(input)})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Invoke(%s): %v, want %q", input, err, want)
		}
	}
}
