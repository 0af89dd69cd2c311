package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"usher/caps"
	"usher/tools"
	"usher/tools/fault"
	"usher/tools/toolstest"
)

// refund is a typed operation: encoding/json reads its fields in any case.
type refund struct {
	ID     string  `json:"id"`
	Amount float64 `json:"amount,omitempty"`
	Order  struct {
		Total float64 `json:"total"`
	} `json:"order,omitzero"`
	Tags any `json:"tags,omitempty"`
}

func refunds(paid *[]refund) *tools.Operation {
	return tools.New("test:refund", "Refund.",
		func(in refund) []caps.Request { return []caps.Request{caps.Need("crud/write", "w/refunds/"+in.ID)} },
		func(_ context.Context, call tools.Call, in refund) (string, error) {
			*paid = append(*paid, in)
			return "paid", call.Again(context.Background())
		}, tools.Within(caps.ScopeUnder("crud/write", "w/refunds", 1, 1)))
}

func parsed(t testing.TB, text string) caps.Set {
	t.Helper()
	set, err := caps.ParseSet([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// clocked is a gate whose clock the test sets.
func clocked(t testing.TB, now *time.Time, ledger tools.Ledger, guards []tools.Guard, ops ...*tools.Operation) (*tools.Gate, *toolstest.Mint) {
	t.Helper()
	registry := new(tools.Registry)
	if err := registry.Register(ops...); err != nil {
		t.Fatal(err)
	}
	return toolstest.NewGate(registry, &tools.GateOptions{Ledger: ledger, Guards: guards, Now: func() time.Time { return *now }})
}

func TestTermsAtTheGate(t *testing.T) {
	const most = `[{"with":"w/refunds/","can":"crud","when":{"/amount":{"max":100}}}]`
	const tiers = `[{"with":"w/refunds/","can":"crud","when":{"/amount":{"max":100}}},{"with":"w/refunds/","can":"crud","when":{"/amount":{"max":1000}},"ask":true},{"with":"w/refunds/bob","can":"*","deny":true}]`
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name, caps, input string
		want              string // verdict, or "invalid"
		says              string
	}{
		{"within", most, `{"id":"7","amount":100}`, tools.Allowed, ""},
		{"the same number, spelt otherwise", most, `{"id":"7","amount":1e2}`, tools.Allowed, ""},
		{"beyond", most, `{"id":"7","amount":250}`, tools.Denied, "/amount is 250, not at most 100"},
		{"beyond by what a float does not hold", most, `{"id":"7","amount":100.00000000000000000001}`, tools.Denied, "not at most 100"},
		{"huge, in bounded time", most, `{"id":"7","amount":1e999}`, "invalid", ""},
		{"left out", most, `{"id":"7"}`, tools.Denied, "/amount is missing"},
		{"in another case", most, `{"id":"7","Amount":50}`, "invalid", "not a field"},
		{"twice", most, `{"id":"7","amount":50,"amount":500}`, "invalid", "twice"},
		{"twice, by an escape", most, `{"id":"7","amount":50,"am\u006funt":500}`, "invalid", "twice"},
		{"twice, by case", most, `{"id":"7","amount":50,"AMOUNT":500}`, "invalid", "twice"},
		{"by an escape alone", most, `{"id":"7","am\u006funt":50}`, tools.Allowed, ""},
		{
			"twice inside, by case",
			`[{"with":"w/refunds/","can":"crud","when":{"/order/total":{"max":100}}}]`, `{"id":"7","order":{"total":5,"Total":500}}`, "invalid", "not a field",
		},
		{
			"twice inside",
			`[{"with":"w/refunds/","can":"crud","when":{"/order/total":{"max":100}}}]`, `{"id":"7","order":{"total":5,"total":500}}`, "invalid", "twice",
		},
		{"plain comes before ask", tiers, `{"id":"7","amount":100}`, tools.Allowed, ""},
		{"ask", tiers, `{"id":"7","amount":101}`, tools.Asked, "after asking a person"},
		{"beyond ask", tiers, `{"id":"7","amount":1001}`, tools.Denied, "not at most 100"},
		{"deny wins", tiers, `{"id":"bob","amount":1}`, tools.Denied, "denied expressly, by never: * on w/refunds/bob"},
		{
			"a denial when", `[{"with":"w/","can":"crud"},{"with":"w/","can":"crud","deny":true,"when":{"/amount":{"min":100}}}]`,
			`{"id":"7","amount":99}`, tools.Allowed, "",
		},
		{
			"a denial when, met", `[{"with":"w/","can":"crud"},{"with":"w/","can":"crud","deny":true,"when":{"/amount":{"min":100}}}]`,
			`{"id":"7","amount":100}`, tools.Denied, "denied expressly",
		},
		{
			"a denial when, left out", `[{"with":"w/","can":"crud"},{"with":"w/","can":"crud","deny":true,"when":{"/amount":{"min":100}}}]`,
			`{"id":"7"}`, tools.Denied, "denied expressly",
		},
		{
			"a denial when, below it by what a float does not hold", `[{"with":"w/","can":"crud"},{"with":"w/","can":"crud","deny":true,"when":{"/amount":{"min":100}}}]`,
			`{"id":"7","amount":99.99999999999999999999}`, tools.Denied, "denied expressly",
		},
		{
			"a denial of a value, as a list", `[{"with":"w/","can":"crud"},{"with":"w/","can":"crud","deny":true,"when":{"/tags":"x"}}]`,
			`{"id":"7","tags":["x"]}`, tools.Denied, "denied expressly",
		},
		{
			"a denial of what lies below", `[{"with":"w/","can":"crud"},{"with":"w/refunds/7/secret","can":"crud/read","deny":true}]`,
			`{"id":"7"}`, tools.Allowed, "",
		},
		{
			"a denial of what lies below, of the same ability", `[{"with":"w/","can":"crud"},{"with":"w/refunds/7/secret","can":"crud","deny":true}]`,
			`{"id":"7"}`, tools.Denied, "denied expressly",
		},
		{"ended", `[{"with":"w/","can":"crud","until":"2026-11-22T11:59:59Z"}]`, `{"id":"7"}`, tools.Denied, "it ended at 2026-11-22T11:59:59Z"},
		{"in the last moment", `[{"with":"w/","can":"crud","until":"2026-11-22T12:00:00Z"}]`, `{"id":"7"}`, tools.Allowed, ""},
		{"a denial that ended", `[{"with":"w/","can":"crud"},{"with":"w/","can":"crud","deny":true,"until":"2026-11-22T11:00:00Z"}]`, `{"id":"7"}`, tools.Allowed, ""},
		{"a denial that has not", `[{"with":"w/","can":"crud"},{"with":"w/","can":"crud","deny":true,"until":"2026-11-22T12:00:00Z"}]`, `{"id":"7"}`, tools.Denied, "denied expressly"},
		{"nothing matches", most, `{"id":"a/../b"}`, "invalid", ""},
		{"another ability", `[{"with":"w/","can":"crud/read","ask":true}]`, `{"id":"7"}`, tools.Denied, "Your capabilities are: crud/read on w/ after asking a person."},
		{"the schema comes before terms", most, `{"id":"7","amount":"x"}`, "invalid", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var paid []refund
			ledger := new(memoryLedger)
			g, mint := clocked(t, &now, ledger, nil, refunds(&paid))
			set := parsed(t, tc.caps)
			agent := mint.Agent(owner(t, 1), "Carol", func() caps.Set { return set })
			inv := tools.Invocation{Operation: "test:refund", Input: json.RawMessage(tc.input)}
			ruling, failure := g.Decide(t.Context(), agent, inv)
			got := ruling.Verdict()
			if failure != nil {
				got = "invalid"
			}
			_, err := g.Invoke(t.Context(), agent, inv)
			if got != tc.want || (err == nil) != (tc.want == tools.Allowed) || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("Decide = %s, %v; Invoke = %v; want %s with %q", got, failure, err, tc.want, tc.says)
			}
			if (len(paid) > 0) != (tc.want == tools.Allowed) {
				t.Errorf("it paid %v", paid)
			}
			if tc.want == "invalid" {
				return
			}
			if len(ledger.entries) != 1 || ledger.entries[0].Verdict != tc.want {
				t.Errorf("the rows are %+v, want one: %s", ledger.entries, tc.want)
			} else if strings.Contains(ledger.entries[0].Reason, "250") {
				t.Errorf("the ledger has a value of the input: %s", ledger.entries[0].Reason)
			}
			if tc.want == tools.Asked && (fault.Of(err) != fault.ApprovalRequired || ruling.Reason() == "" || !ruling.Requirements()[0].Asked) {
				t.Errorf("it is asked as %v, with %q, %+v", err, ruling.Reason(), ruling.Requirements())
			}
		})
	}
}

// What is known of an authority is known for an epoch; that a capability ends is no
// change of any.
func TestWhatEndsEndsWithoutAChange(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	var paid []refund
	op := refunds(&paid)
	g, mint := clocked(t, &now, nil, nil, op)
	set := parsed(t, `[{"with":"w/","can":"crud","until":"2026-11-22T13:00:00Z"}]`)
	agent := mint.Agent(owner(t, 1), "Carol", func() caps.Set { return set })
	inv := tools.Invocation{Operation: "test:refund", Input: json.RawMessage(`{"id":"7"}`)}
	for _, step := range []struct {
		after time.Duration
		ok    bool
	}{{0, true}, {time.Hour, true}, {time.Second, false}, {-time.Second, true}} {
		now = now.Add(step.after)
		if _, err := g.Invoke(t.Context(), agent, inv); (err == nil) != step.ok {
			t.Errorf("at %v: %v", now, err)
		}
		if offered := op.CouldAllow(agent.Caps()); offered != step.ok {
			t.Errorf("at %v it is offered: %v", now, offered)
		}
	}
}

// Whoever bounds a call tightens it: what one asks for is asked for, and what one
// denies is denied, whatever the other says.
func TestTermsOfThoseAbove(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	var paid []refund
	g, mint := clocked(t, &now, nil, nil, refunds(&paid))
	plain, ask, deny, most := parsed(t, `[{"with":"w/","can":"crud"}]`), parsed(t, `[{"with":"w/","can":"crud","ask":true}]`),
		parsed(t, `[{"with":"w/","can":"crud"},{"with":"w/refunds/7","can":"crud","deny":true}]`), parsed(t, `[{"with":"w/refunds","can":"crud","when":{"/amount":{"max":100}}}]`)
	for _, tc := range []struct {
		name         string
		actor, asker caps.Set
		input, want  string
	}{
		{"plain by plain", plain, plain, `{"id":"7"}`, tools.Allowed},
		{"plain by ask", plain, ask, `{"id":"7"}`, tools.Asked},
		{"ask by plain", ask, plain, `{"id":"7"}`, tools.Asked},
		{"ask by deny", ask, deny, `{"id":"7"}`, tools.Denied},
		{"ask by deny, elsewhere", ask, deny, `{"id":"8"}`, tools.Asked},
		{"plain by most", plain, most, `{"id":"7","amount":101}`, tools.Denied},
		{"ask by most", ask, most, `{"id":"7","amount":100}`, tools.Asked},
		{"most by deny", most, deny, `{"id":"7","amount":1}`, tools.Denied},
	} {
		asker := mint.Agent(owner(t, 1), "Asker", func() caps.Set { return tc.asker })
		actor := mint.Agent(owner(t, 1), "Actor", func() caps.Set { return tc.actor }).ByCaller(asker, false)
		narrowed := mint.Agent(owner(t, 1), "Actor", func() caps.Set { return tc.actor }).Narrow(tc.asker)
		stored, err := narrowed.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		opened, err := mint.Open(stored)
		if err != nil {
			t.Fatal(err)
		}
		for how, auth := range map[string]tools.Authority{"called": actor, "narrowed": narrowed, "stored": opened} {
			r, err := g.Decide(t.Context(), auth, tools.Invocation{Operation: "test:refund", Input: json.RawMessage(tc.input)})
			if err != nil || r.Verdict() != tc.want {
				t.Errorf("%s, %s: %s, %v, want %s", tc.name, how, r.Verdict(), err, tc.want)
			}
		}
	}
}

// Guards come after the terms, and only tighten.
func TestGuardsAfterTerms(t *testing.T) {
	now := time.Now()
	for _, tc := range []struct {
		guard says
		want  string
	}{{"allow", tools.Asked}, {"ask", tools.Asked}, {"deny", tools.Denied}, {"panic", "error"}} {
		var paid []refund
		g, mint := clocked(t, &now, nil, []tools.Guard{tc.guard}, refunds(&paid))
		set := parsed(t, `[{"with":"w/","can":"crud","ask":true}]`)
		agent := mint.Agent(owner(t, 1), "Carol", func() caps.Set { return set })
		r, err := g.Decide(t.Context(), agent, tools.Invocation{Operation: "test:refund", Input: json.RawMessage(`{"id":"7"}`)})
		if got := r.Verdict(); (tc.want == "error") != (err != nil) || err == nil && got != tc.want {
			t.Errorf("%s: %s, %v, want %s", tc.guard, got, err, tc.want)
		}
		if _, err := g.Invoke(t.Context(), agent, tools.Invocation{Operation: "test:refund", Input: json.RawMessage(`{"id":"7"}`)}); err == nil || len(paid) > 0 {
			t.Errorf("%s: Invoke = %v, and paid %v", tc.guard, err, paid)
		}
	}
}

// The terms of invoke look at the input of the call that requires it: of grid:run and
// its like that is theirs, and what they start is decided by its own.
func TestTermsLookAtTheCallThatRequires(t *testing.T) {
	now := time.Now()
	var paid []refund
	inner := refunds(&paid)
	outer := tools.New("test:run", "Run.",
		func(struct {
			Amount float64         `json:"amount,omitempty"`
			Input  json.RawMessage `json:"input"`
		},
		) []caps.Request {
			return []caps.Request{caps.NeedAbility("invoke")}
		},
		func(ctx context.Context, call tools.Call, in struct {
			Amount float64         `json:"amount,omitempty"`
			Input  json.RawMessage `json:"input"`
		},
		) (json.RawMessage, error) {
			res, err := call.Invoke(ctx, "test:refund", in.Input)
			return res.Output, err
		}, tools.Within(caps.ScopeAbility("invoke")))
	g, mint := clocked(t, &now, nil, nil, inner, outer)
	for _, tc := range []struct {
		name, caps, input string
		ok                bool
	}{
		{"the inner input is held against the inner terms", `[{"with":"","can":"invoke"},{"with":"w/","can":"crud","when":{"/amount":{"max":100}}}]`, `{"input":{"id":"7","amount":50}}`, true},
		{"not the outer one", `[{"with":"","can":"invoke"},{"with":"w/","can":"crud","when":{"/amount":{"max":100}}}]`, `{"amount":50,"input":{"id":"7","amount":500}}`, false},
		{"and invoke looks at the outer", `[{"with":"","can":"invoke","when":{"/amount":{"max":100}}},{"with":"w/","can":"crud"}]`, `{"amount":50,"input":{"id":"7","amount":500}}`, true},
		{"not the inner one", `[{"with":"","can":"invoke","when":{"/amount":{"max":100}}},{"with":"w/","can":"crud"}]`, `{"input":{"id":"7","amount":50}}`, false},
		{"a denial of one thing denies no call without a resource", `[{"with":"","can":"invoke"},{"with":"w/","can":"crud"},{"with":"o/pay","can":"invoke","deny":true}]`, `{"input":{"id":"7"}}`, true},
		{"a denial of all does", `[{"with":"","can":"invoke"},{"with":"w/","can":"crud"},{"with":"","can":"invoke","deny":true}]`, `{"input":{"id":"7"}}`, false},
		{"what is denied is denied inside, too", `[{"with":"","can":"invoke"},{"with":"w/","can":"crud"},{"with":"w/refunds","can":"crud","deny":true}]`, `{"input":{"id":"7"}}`, false},
	} {
		set := parsed(t, tc.caps)
		agent := mint.Agent(owner(t, 1), "Carol", func() caps.Set { return set })
		paid = nil
		_, err := g.Invoke(t.Context(), agent, tools.Invocation{Operation: "test:run", Input: json.RawMessage(tc.input)})
		if (err == nil) != tc.ok || (len(paid) > 0) != tc.ok {
			t.Errorf("%s: %v, and paid %v", tc.name, err, paid)
		}
	}
}

// What is denied is denied by a shorter path, too: whatever contains it.
func TestADenialCoversWhatContainsIt(t *testing.T) {
	now := time.Now()
	var wrote []string
	g, mint := clocked(t, &now, nil, nil, writer(&wrote))
	me := owner(t, 1)
	for _, with := range []string{"w/a/secret", me.String() + "/w/a/secret/"} {
		set := parsed(t, `[{"with":"w/","can":"crud"},{"with":"`+with+`","can":"crud","deny":true}]`)
		agent := mint.Agent(me, "Carol", func() caps.Set { return set })
		for path, ok := range map[string]bool{
			"w/a/secret": false, "w/a/secret/x": false, "w/a": false, "w": false, "/w/a/": false, me.String() + "/w/a": false,
			"w/a/secrets": true, "w/b": true, "w/a/other": true,
		} {
			input, _ := json.Marshal(map[string]string{"path": path})
			r, err := g.Decide(t.Context(), agent, tools.Invocation{Operation: "test:write", Input: input})
			if err != nil || (r.Verdict() == tools.Allowed) != ok {
				t.Errorf("deny %s: write to %s is %s, %v", with, path, r.Verdict(), err)
			}
		}
	}
}

// A requirement that asks and one that is not met: the tightest counts, whichever
// comes first.
func TestTheTightestRequirementCounts(t *testing.T) {
	now := time.Now()
	both := tools.New("test:copy", "Copy.",
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
		) (string, error) {
			return "", errors.New("no")
		}, tools.Within(caps.ScopeUnder("crud/read", "w", 1, 0)), tools.Within(caps.ScopeUnder("crud/write", "w", 1, 0)))
	g, mint := clocked(t, &now, nil, nil, both)
	set := parsed(t, `[{"with":"w/plain","can":"crud"},{"with":"w/ask","can":"crud","ask":true},{"with":"w/never","can":"crud","ask":true,"until":"2001-01-01T00:00:00Z"}]`)
	agent := mint.Agent(owner(t, 1), "Carol", func() caps.Set { return set })
	verdicts := []string{tools.Allowed, tools.Asked, tools.Denied}
	for i, from := range []string{"w/plain", "w/ask", "w/never"} {
		for j, to := range []string{"w/plain", "w/ask", "w/never"} {
			input, _ := json.Marshal(map[string]string{"from": from, "to": to})
			r, err := g.Decide(t.Context(), agent, tools.Invocation{Operation: "test:copy", Input: input})
			if want := verdicts[max(i, j)]; err != nil || r.Verdict() != want {
				t.Errorf("copy %s to %s is %s, %v, want %s", from, to, r.Verdict(), err, want)
			}
			if needs := slices.Collect(r.Needs()); len(needs) != 2 {
				t.Errorf("copy %s to %s needs %v", from, to, needs)
			}
		}
	}
}

// What a handler asks again is decided on the terms of that moment: a call that nobody
// was asked about does not go on where somebody would have to be.
func TestAgainOnTerms(t *testing.T) {
	now := time.Now()
	for after, want := range map[string]string{
		`[{"with":"w/","can":"crud"}]`:                                                                 "",
		`[{"with":"w/","can":"crud","when":{"/amount":{"max":5}}}]`:                                    "",
		`[{"with":"w/","can":"crud","when":{"/amount":{"max":4}}}]`:                                    "/amount is 5, not at most 4",
		`[{"with":"w/","can":"crud","ask":true}]`:                                                      "needs the approval of a person",
		`[{"with":"w/","can":"crud"},{"with":"w/refunds/7/x","can":"crud","deny":true}]`:               "denied expressly",
		`[{"with":"w/","can":"crud","until":"2001-01-01T00:00:00Z"}]`:                                  "it ended",
		`[{"with":"w/refunds/8","can":"crud"},{"with":"w/","can":"crud/read","when":{"/amount":"x"}}]`: "Capability denied",
	} {
		set, changed := parsed(t, `[{"with":"w/","can":"crud"}]`), parsed(t, after)
		op := tools.New("test:refund", "Refund.",
			func(in refund) []caps.Request { return []caps.Request{caps.Need("crud/write", "w/refunds/"+in.ID)} },
			func(ctx context.Context, call tools.Call, _ refund) (string, error) {
				set = changed
				if denial := call.Check(caps.Need("crud/write", "w/refunds/7")); (denial != nil) != (want != "") {
					t.Errorf("%s: Check = %v", after, denial)
				}
				return "", call.Again(ctx)
			}, tools.Within(caps.ScopeUnder("crud/write", "w/refunds", 1, 1)))
		g, mint := clocked(t, &now, nil, nil, op)
		agent := mint.Agent(owner(t, 1), "Carol", func() caps.Set { return set })
		_, err := g.Invoke(t.Context(), agent, tools.Invocation{Operation: "test:refund", Input: json.RawMessage(`{"id":"7","amount":5}`)})
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", after, err, want)
		}
	}
}

// A call that lacks a field is no call to ask about, and leaves no row; that it would
// be one is known beforehand.
func TestAnIncompleteCallIsNotAskedAbout(t *testing.T) {
	now := time.Now()
	ledger := new(memoryLedger)
	set := parsed(t, `[{"with":"w/","can":"crud","ask":true}]`)
	lacking := tools.New("test:pair", "Pair.",
		func(struct {
			ID   string `json:"id,omitempty"`
			Must string `json:"must"`
		},
		) []caps.Request {
			return []caps.Request{caps.Need("crud/write", "w/x")}
		},
		func(context.Context, tools.Call, struct {
			ID   string `json:"id,omitempty"`
			Must string `json:"must"`
		},
		) (string, error) {
			return "", nil
		}, tools.Within(caps.ScopeUnder("crud/write", "w", 1, 1)))
	g, mint := clocked(t, &now, ledger, nil, lacking)
	agent := mint.Agent(owner(t, 1), "Carol", func() caps.Set { return set })
	inv := tools.Invocation{Operation: "test:pair", Input: json.RawMessage(`{}`)}
	if r, err := g.Decide(t.Context(), agent, inv); err != nil || r.Verdict() != tools.Asked {
		t.Errorf("Decide = %s, %v", r.Verdict(), err)
	}
	_, err := g.Invoke(t.Context(), agent, inv)
	if _, unfit := errors.AsType[*tools.InputError](err); !unfit || len(ledger.entries) > 0 {
		t.Errorf("Invoke = %v, and the rows are %+v", err, ledger.entries)
	}
}

// granting allows whatever it is asked about.
type granting struct {
	tools.Approvals // the rest, which nobody asks

	asked int
}

func (g *granting) Answer(context.Context, *tools.Ruling, tools.At) (*tools.Grant, error) {
	g.asked++
	return &tools.Grant{Approval: "1"}, nil
}

// Where persons answer, they are not asked about an incomplete call either, and
// their answer does not make it one that fits.
func TestAnApprovalDoesNotCompleteACall(t *testing.T) {
	type pair struct {
		Must string `json:"must"`
	}
	ran, answers := 0, new(granting)
	registry := new(tools.Registry)
	if err := registry.Register(tools.New("test:pair", "Pair.",
		func(pair) []caps.Request { return []caps.Request{caps.Need("crud/write", "w/x")} },
		func(context.Context, tools.Call, pair) (string, error) { ran++; return "", nil })); err != nil {
		t.Fatal(err)
	}
	g, mint := toolstest.NewGate(registry, &tools.GateOptions{Approvals: answers})
	set := parsed(t, `[{"with":"w/","can":"crud","ask":true}]`)
	agent := mint.Agent(owner(t, 1), "Carol", func() caps.Set { return set })
	_, err := g.Invoke(t.Context(), agent, tools.Invocation{Operation: "test:pair", Input: json.RawMessage(`{}`)})
	if _, unfit := errors.AsType[*tools.InputError](err); !unfit || answers.asked > 0 || ran > 0 {
		t.Errorf("Invoke = %v; a person was asked %d times, and it ran %d times", err, answers.asked, ran)
	}
	if _, err := g.Invoke(t.Context(), agent, tools.Invocation{Operation: "test:pair", Input: json.RawMessage(`{"must":"x"}`)}); err != nil || answers.asked != 1 || ran != 1 {
		t.Errorf("a whole call: %v; a person was asked %d times, and it ran %d times", err, answers.asked, ran)
	}
}
