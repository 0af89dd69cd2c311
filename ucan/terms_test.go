package ucan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"usher/caps"
	"usher/caps/value"
)

func onTerms(t testing.TB, text string) caps.Capability {
	t.Helper()
	var c caps.Capability
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// What a token cannot carry exactly is refused before anything is signed.
func TestTermsThatNoTokenCarries(t *testing.T) {
	for _, tc := range []struct {
		terms  string
		format Format
		says   string
	}{
		{`"ask":true`, Native, "ask"},
		{`"ask":true`, JWT, "ask"},
		{`"deny":true`, Native, "deny"},
		{`"deny":true`, JWT, "deny"},
		{`"until":"2026-11-20T12:30:00Z"`, JWT, "a JWT has with and can alone"},
		{`"when":{"/amount":{"max":100}}`, JWT, "a JWT has with and can alone"},
		{`"when":{"/with":"x"}`, Native, "is the resource"},
		{`"when":{"":{"in":[{"a":1}]}}`, Native, "whole input"},
		{`"when":{"/0":1}`, Native, "names of letters"},
		{`"when":{"/a b":1}`, Native, "names of letters"},
		{`"when":{"/a":null}`, Native, "only texts"},
		{`"when":{"/a":[1]}`, Native, "only texts"},
		{`"when":{"/a":{"in":[{"b":1}]}}`, Native, "only texts"},
		{`"when":{"/a":{"not_in":[1,"x"]}}`, Native, "not_in of numbers"},
		{`"when":{"/a":{"not_in":[null]}}`, Native, "only texts"},
		{`"when":{"/a":9007199254740993}`, Native, "no exact form"},
		{`"when":{"/a":{"max":0.1000000000000000000001}}`, Native, "no exact form"},
		{`"when":{"/a":{"max":1e400}}`, Native, "no exact form"},
		{`"until":"2026-11-20T11:59:59Z"`, Native, "expired"},
	} {
		w := newWorld(t)
		_, err := w.issuer(w.alice).Delegate(t.Context(), Delegation{
			Audience: w.bob.DID(), Format: tc.format, Expires: noon.Add(time.Hour),
			Capabilities: []caps.Capability{caps.MustCapability("w/fine", "crud"), onTerms(t, `{"with":"w/","can":"crud",`+tc.terms+`}`)},
		})
		if err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s as %s: %v, want %q", tc.terms, tc.format, err, tc.says)
		}
	}
}

// The end of a token is the earlier of its own and its capability's.
func TestUntilIsTheExpiry(t *testing.T) {
	w := newWorld(t)
	links, err := w.issuer(w.alice).Delegate(t.Context(), Delegation{
		Audience: w.bob.DID(), Expires: noon.Add(time.Hour),
		Capabilities: []caps.Capability{
			onTerms(t, `{"with":"w/a","can":"crud","until":"2026-11-20T12:30:00Z"}`),
			onTerms(t, `{"with":"w/b","can":"crud","until":"2026-11-20T14:00:00Z"}`),
			caps.MustCapability("w/c", "crud"),
		},
	})
	if err != nil || len(links) != 3 {
		t.Fatal(links, err)
	}
	for i, want := range []time.Time{noon.Add(30 * time.Minute), noon.Add(time.Hour), noon.Add(time.Hour)} {
		if got := links[i].Expires(); !got.Equal(want) {
			t.Errorf("token %d ends at %v, want %v", i, got, want)
		}
	}
}

// A token gives on an input what the capability that it was made from gives, and
// nothing on numbers that it cannot hold.
func TestPolicyIsWhen(t *testing.T) {
	whens := []string{
		`{"/n":{"max":100}}`, `{"/n":{"min":1,"max":100.5}}`, `{"/n":7}`, `{"/n":7.5}`, `{"/n":{"in":[1,2.5,"x"]}}`, `{"/s":"x"}`, `{"/s":true}`,
		`{"/s":{"not_in":["x"]}}`, `{"/n":{"not_in":[1,2.5]}}`, `{"/s":{"not_in":["x",true]}}`, `{"/o/n":{"max":5}}`, `{"/n":{"max":9007199254740991},"/s":{"in":["x","y"]}}`,
	}
	inputs := []string{
		`{}`, `{"n":0}`, `{"n":1}`, `{"n":1.0}`, `{"n":2.5}`, `{"n":7}`, `{"n":7.0000}`, `{"n":7.5}`, `{"n":75e-1}`, `{"n":100}`, `{"n":100.00000000000000000001}`, `{"n":100.5}`,
		`{"n":1e400}`, `{"n":-1e999999999}`, `{"n":9007199254740993}`, `{"n":"7"}`, `{"n":null,"s":null}`, `{"s":"x"}`, `{"s":"y","n":3}`, `{"s":true}`, `{"s":false}`,
		`{"s":["x"]}`, `{"s":5}`, `{"o":{"n":5}}`, `{"o":{"n":5,"N":50}}`, `{"o":5}`, `{"o":[{"n":5}]}`, `{"n":1,"N":500}`, `{"n":50,"with":"did:key:zX"}`, `{"n":1,"n":1}`, `[1]`, `7`,
	}
	w := newWorld(t)
	tokens := map[string]*Link{}
	for _, when := range whens {
		links, err := w.issuer(w.alice).Delegate(t.Context(), Delegation{
			Audience: w.bob.DID(), Expires: noon.Add(time.Hour),
			Capabilities: []caps.Capability{onTerms(t, `{"with":"w/","can":"crud","when":`+when+`}`)},
		})
		if err != nil {
			t.Fatal(when, err)
		}
		if tokens[when], err = Open(links[0].Bytes()); err != nil || !tokens[when].isConditional() {
			t.Fatal(when, err)
		}
	}
	allowed, total := 0, 0
	check := func(fatalf func(string, ...any), when, input string) {
		c := onTerms(t, `{"with":"w/","can":"crud","when":`+when+`}`)
		v, _ := value.Decode([]byte(input), 8)
		want := caps.Of(c).Check(caps.Need("crud", "w/x")).Settle(caps.Facts{Now: noon, Input: v}).IsAllowed()
		_, err := w.v.Authorize(context.Background(), Query{
			Caller: w.bob.DID(), Owner: w.alice.DID(), Request: caps.Need("crud", "w/x"), Tokens: []*Link{tokens[when]}, Input: json.RawMessage(input),
		})
		// A number that a policy cannot hold is refused.
		inexact := strings.Contains(fmt.Sprintf("%#v", argument(v)), "ambiguous")
		if (err == nil) != want && (err == nil || !inexact) || err != nil && !errors.Is(err, ErrPolicy) {
			fatalf("when %s, input %s: %v, want allowed %v", when, input, err, want)
		}
		if total++; want {
			allowed++
		}
	}
	for _, when := range whens {
		for _, input := range inputs {
			check(t.Errorf, when, input)
		}
	}
	if allowed < total/20 {
		t.Errorf("%d of %d allowed: the cases decide too little", allowed, total)
	}
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,3})?`).Draw(t, "number")
		check(t.Fatalf, rapid.SampledFrom(whens).Draw(t, "when"), `{"n":`+number+`,"o":{"n":`+number+`},"s":"x"}`)
	})
}

// What an agent signed counts as far as its capabilities go, on their terms.
func TestWhatAnAgentSignedOnTerms(t *testing.T) {
	for _, tc := range []struct {
		name, caps, input string
		ok                bool
	}{
		{"plain", `[{"with":"w/","can":"crud"}]`, `{}`, true},
		{"when", `[{"with":"w/","can":"crud","when":{"/n":1}}]`, `{"n":1}`, true},
		{"when not", `[{"with":"w/","can":"crud","when":{"/n":1}}]`, `{"n":2}`, false},
		{"when unknown", `[{"with":"w/","can":"crud","when":{"/n":1}}]`, ``, false},
		{"ask", `[{"with":"w/","can":"crud","ask":true}]`, `{}`, false},
		{"ended", `[{"with":"w/","can":"crud","until":"2026-11-20T11:59:59Z"}]`, `{}`, false},
		{"not ended", `[{"with":"w/","can":"crud","until":"2026-11-20T12:00:00Z"}]`, `{}`, true},
		{"denied", `[{"with":"w/","can":"crud"},{"with":"w/x/y","can":"crud","deny":true}]`, `{}`, false},
	} {
		w := newWorld(t)
		set, err := caps.ParseSet([]byte(tc.caps))
		if err != nil {
			t.Fatal(err)
		}
		w.v.Signer = func(context.Context, DID, DID, string) (caps.Set, DID) { return set, w.alice.DID() }
		links, err := w.issuer(w.alice).Delegate(t.Context(), Delegation{
			Audience: w.bob.DID(), Expires: noon.Add(time.Hour), Capabilities: []caps.Capability{caps.MustCapability("w/", "crud")}, Agents: []string{"life"},
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.v.Authorize(t.Context(), Query{Caller: w.bob.DID(), Owner: w.alice.DID(), Request: caps.Need("crud", "w/x"), Tokens: links, Input: json.RawMessage(tc.input)})
		if (err == nil) != tc.ok || err != nil && !errors.Is(err, ErrAgent) {
			t.Errorf("%s: %v, want allowed %v", tc.name, err, tc.ok)
		}
	}
}
