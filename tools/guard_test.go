package tools_test

import (
	"context"
	"strings"
	"testing"

	"usher/tools"
	"usher/tools/fault"
	"usher/tools/toolstest"
)

// says is a guard that always says the same.
type says string

func (s says) Guard(context.Context, *tools.Ruling) (verdict, why string) {
	if s == "panic" {
		panic("no")
	}
	return string(s), "as " + string(s)
}

// Of what guards say the tightest counts, and of that the first; what is no verdict
// denies, and so does a panic.
func TestTheTightestGuardCounts(t *testing.T) {
	for _, tc := range []struct {
		guards []tools.Guard
		want   string
		code   fault.Code
		why    string
	}{
		{nil, tools.Allowed, "", ""},
		{[]tools.Guard{says("allow"), says("allow")}, tools.Allowed, "", ""},
		{[]tools.Guard{says("allow"), says("ask")}, tools.Asked, fault.ApprovalRequired, "v/ops/test/write needs the approval of a person: as ask"},
		{[]tools.Guard{says("ask"), says("deny"), says("ask")}, tools.Denied, fault.Refused, "v/ops/test/write is refused: as deny"},
		{[]tools.Guard{says("deny"), says("ask"), says("never")}, tools.Denied, fault.Refused, "as deny"},
		{[]tools.Guard{says("ask"), says("")}, tools.Denied, fault.Refused, "refused"},
		{[]tools.Guard{says("allow"), says("panic")}, "", fault.Panic, "failed inside"},
	} {
		var wrote []string
		registry := new(tools.Registry)
		if err := registry.Register(writer(&wrote)); err != nil {
			t.Fatal(err)
		}
		ledger := new(memoryLedger)
		g, mint := toolstest.NewGate(registry, &tools.GateOptions{Guards: tc.guards, Ledger: ledger})
		me := mint.User(owner(t, 1))
		inv := tools.Invocation{Operation: "test:write", Input: []byte(`{"path":"w/a"}`)}
		ruling, failure := g.Decide(t.Context(), me, inv)
		if tc.want != "" && (ruling.Verdict() != tc.want || failure != nil) {
			t.Errorf("%v: Decide = %s, %v; want %s", tc.guards, ruling.Verdict(), failure, tc.want)
		}
		_, err := g.Invoke(t.Context(), me, inv)
		if fault.Of(err) != tc.code || err != nil && !strings.Contains(err.Error(), tc.why) || (len(wrote) > 0) != (tc.want == tools.Allowed) {
			t.Errorf("%v: Invoke = %v, and wrote %v; want %q with %q", tc.guards, err, wrote, tc.code, tc.why)
		}
		if tc.want != "" && (len(ledger.entries) != 1 || ledger.entries[0].Verdict != tc.want) {
			t.Errorf("%v: the rows are %+v, want one: %s", tc.guards, ledger.entries, tc.want)
		}
	}
}
