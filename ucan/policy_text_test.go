package ucan

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"usher/caps"
	"usher/caps/value"
)

// What a policy says beyond the resource is one line for people, and whole as JSON.
func TestPolicyText(t *testing.T) {
	w := newWorld(t)
	rule := func(s ...any) []any { return s }
	resource := rule("or", []any{
		rule("==", ".with", w.alice.DID().String()+"/w/a"), rule("like", ".with", w.alice.DID().String()+"/w/a/*"),
	})
	for _, tc := range []struct {
		name string
		pol  []any
		want string // "" for none
		json string
	}{
		{"no policy", rule(), "", ""},
		{"the resource alone", rule(resource), "", ""},
		{"less than the resource", rule(rule("like", ".with", w.alice.DID().String()+"/w/a/*")), `.with like "` + w.alice.DID().String() + `/w/a/*"`, ""},
		{"beside the resource", rule(resource, rule("<=", ".amount", 1000)), ".amount <= 1000", `[["<=",".amount",1000]]`},
		{"two", rule(rule("<=", ".amount", 1000), rule("or", []any{rule("==", ".to", "a"), rule("==", ".to", "b")})), `.amount <= 1000 and (.to == "a" or .to == "b")`, ""},
		{"one choice", rule(rule("or", []any{rule("==", ".to", "a"), rule("==", ".to", "b")})), `.to == "a" or .to == "b"`, ""},
		{"not", rule(rule("not", rule("and", []any{rule("==", ".a", true), rule("==", ".b", nil)}))), "not (.a == true and .b == null)", ""},
		{"each of a list", rule(rule("all", ".to", rule("like", ".", "*@a.example"))), `all of .to (. like "*@a.example")`, ""},
		{"an empty list", rule(rule("or", []any{}), rule("==", ".a", 1)), "anything and .a == 1", ""},
		{"bytes and a link", rule(rule("==", ".a", []byte{1, 2, 3}), rule("==", ".b", cidOf(codecRaw, nil))), `.a == {"/":{"bytes":"AQID"}} and .b == {"/":"` + cidOf(codecRaw, nil).String() + `"}`, ""},
		{"what moves a cursor", rule(rule("==", ".[\"a\u202e\"]", "\u001b[2J\u2028")), ".[\"a\ufffd\"] == \"\\u001b[2J\\u2028\"", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := w.native(w.alice, w.bob.DID(), w.alice.DID(), "crud", "", map[string]any{"pol": tc.pol})
			p := l.Policy()
			if (len(p) > 0) != l.isConditional() || (tc.want == "") == l.isConditional() {
				t.Fatalf("Policy() = %v of a token that is conditional: %v", p, l.isConditional())
			}
			if tc.want != "" && p.String() != tc.want {
				t.Errorf("%s\nwant %s", p, tc.want)
			}
			raw, err := value.Encode(p)
			if err != nil || tc.json != "" && string(raw) != tc.json {
				t.Errorf("as JSON %s, %v", raw, err)
			}
			var again Policy
			if err := json.Unmarshal(raw, &again); err != nil || again.String() != p.String() {
				t.Errorf("read again it says %s, %v", again, err)
			}
		})
	}
}

// A long policy is cut, and what Usher signs for a limit can be read.
func TestPolicyTextOfLimits(t *testing.T) {
	w := newWorld(t)
	many := strings.Repeat(`,"a-rather-long-name-of-a-payee"`, 40)
	for when, want := range map[string]string{
		`{"/amount":{"min":1,"max":100}}`:  ".amount <= 100 and .amount >= 1",
		`{"/to":{"in":["a"` + many + `]}}`: `.to == "a" or .to == "a-rather-long-name-of-a-payee" or `,
		`{"/to":{"not_in":["x"]}}`:         `not (.to == "x") and .to like "*"`,
		`{"/n":{"not_in":[3]}}`:            ".n < 3 or .n > 3",
	} {
		links, err := w.issuer(w.alice).Delegate(t.Context(), Delegation{
			Audience: w.bob.DID(), Expires: noon.Add(time.Hour), Capabilities: []caps.Capability{onTerms(t, `{"with":"w/","can":"crud","when":`+when+`}`)},
		})
		if err != nil {
			t.Fatal(err)
		}
		got := links[0].Policy().String()
		if len(got) > 400+len("…") || !strings.HasPrefix(got, want) {
			t.Error(cmp.Diff(want, got))
		}
	}
}
