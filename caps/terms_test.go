package caps

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"usher/caps/value"
)

func TestTermsAreReadStrictly(t *testing.T) {
	for _, tc := range []struct{ terms, says string }{
		{`"ask":1`, "ask is a number"},
		{`"ask":null`, "ask is null"},
		{`"deny":"yes"`, "deny is a string"},
		{`"deny":true,"ask":true`, "contradict"},
		{`"until":5`, "until is a number"},
		{`"until":""`, "write 2026-12-31"},
		{`"until":"tomorrow"`, "write 2026-12-31"},
		{`"until":"2026-12-31"`, "write 2026-12-31"},
		{`"until":"2026-12-31T00:00:00.5Z"`, "whole seconds"},
		{`"until":"0001-01-01T00:00:00Z"`, "until"},
		{`"until":"9999-12-31T23:59:59-01:00"`, "until"},
		{`"when":[]`, "when: it is an array"},
		{`"when":null`, "when: it is null"},
		{`"when":{}`, "when: it is empty"},
		{`"when":{"amount":1}`, "begins with a slash"},
		{`"when":{"/a~2":1}`, "~0 for a tilde"},
		{`"when":{"/a~":1}`, "~0 for a tilde"},
		{`"when":{"/a":{}}`, "the limit is empty"},
		{`"when":{"/a":{"maximum":1}}`, "unknown operator"},
		{`"when":{"/a":{"const":1}}`, "the operators are max, min, in and not_in"},
		{`"when":{"/a":{"max":"1"}}`, "max is a string"},
		{`"when":{"/a":{"in":1}}`, "in is a number"},
		{`"when":{"/a":{"in":[]}}`, "in is empty"},
		{`"when":{"/a":{"not_in":[]}}`, "not_in is empty"},
		{`"when":{"/a":{"max":1e9999999999999999999}}`, "exponent"},
		{`"when":{"/a":1,"/a":2}`, "twice"},
		{`"when":{"/` + strings.Repeat("a", maxPointer) + `":1}`, "at most 256"},
		{`"when":{"` + strings.Repeat("/a", maxSegments+1) + `":1}`, "at most 16"},
		{`"when":{"/a":"` + strings.Repeat("a", maxWhen) + `"}`, "bytes"},
		{`"when":{"/a":{"in":[` + strings.Repeat("1,", maxValues) + `1]}}`, "at most 256"},
		{`"When":{"/a":1}`, "unknown key"},
		{`"asks":true`, "unknown key"},
	} {
		text := `[{"with":"w/","can":"crud",` + tc.terms + `}]`
		if set, err := ParseSet([]byte(text)); err == nil || !strings.Contains(err.Error(), tc.says) || !set.IsEmpty() {
			t.Errorf("ParseSet(%.120s) = %v, %v, want an error with %q", text, set, err, tc.says)
		}
		var c Capability
		if err := json.Unmarshal([]byte(text[1:len(text)-1]), &c); err == nil || c.can != "" {
			t.Errorf("%.120s reads as %v, %v", text, c, err)
		}
	}
	for text, want := range map[string]string{
		`{"with":"w/","can":"crud","ask":false,"deny":false}`:                                   `crud on w/`,
		`{"with":"w/","can":"crud","when":{"/b":{"min":1,"max":2},"/a":"x"},"ask":true}`:        `crud on w/ when /a is "x" and /b is at least 1 and at most 2, after asking a person`,
		`{"with":"","can":"*","deny":true,"until":"2026-12-31T23:00:00+01:00"}`:                 `never: * on (any) until 2026-12-31T22:00:00Z`,
		`{"with":"w","can":"crud","when":{"":{"in":[{"a":[1]}]},"/a b":{"not_in":["x",null]}}}`: `crud on w when the input is {"a":[1]} and "/a b" is none of "x", null`,
		`{"with":"w","can":"crud","when":{"/x":"\u202ea\u00a0\u200b"}}`:                         `crud on w when /x is "\u202ea\u00a0\u200b"`,
	} {
		var c Capability
		if err := json.Unmarshal([]byte(text), &c); err != nil || c.String() != want {
			t.Errorf("%s reads as %q, %v, want %q", text, c, err, want)
		}
	}
}

// The zero terms are those of a plain capability, and what is wrong is refused.
func TestOn(t *testing.T) {
	c := MustCapability("w/", "crud")
	if got, err := c.On(Terms{}); err != nil || got != c || !got.IsPlain() {
		t.Errorf("On(no terms) = %v, %v", got, err)
	}
	end := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	got, err := c.On(Terms{Ask: true, When: json.RawMessage(`{"/a":1}`), Until: end})
	if err != nil || !got.Asks() || got.Denies() || !got.Until().Equal(end) || len(got.When()) != 1 {
		t.Errorf("On = %v, %v", got, err)
	}
	for _, wrong := range []Terms{{Ask: true, Deny: true}, {When: json.RawMessage(`{`)}, {When: json.RawMessage(`{"a":1}`)}, {Until: end.Add(1)}} {
		if got, err := c.On(wrong); err == nil || got.can != "" {
			t.Errorf("On(%+v) = %v, %v", wrong, got, err)
		}
	}
	if _, err := (Capability{}).On(Terms{Ask: true}); err == nil {
		t.Error("what is no capability has terms")
	}
}

// A grant needs yes; a denial stands unless no.
func TestLimits(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 20) + "1" + strings.Repeat("}", 20)
	for _, tc := range []struct {
		when, input string
		want        truth
	}{
		{`{"/n":{"max":100}}`, `{"n":100}`, yes},
		{`{"/n":{"max":100}}`, `{"n":100.0}`, yes},
		{`{"/n":{"max":100}}`, `{"n":101}`, no},
		{`{"/n":{"max":100}}`, `{"n":100.000000000000000000000001}`, unknown},
		{`{"/n":{"max":9007199254740992}}`, `{"n":9007199254740993}`, no},
		{`{"/n":{"min":9007199254740993}}`, `{"n":9007199254740992}`, no},
		{`{"/n":{"max":0.3}}`, `{"n":0.30000000000000000000000001}`, unknown},
		{`{"/n":{"max":100}}`, `{"n":1e999999999}`, no},
		{`{"/n":{"max":100}}`, `{"n":-1e999999999}`, yes},
		{`{"/n":{"max":100}}`, `{"n":1e99999999999999999999}`, unknown},
		{`{"/n":{"min":1e-999999999}}`, `{"n":0}`, unknown},
		{`{"/n":{"max":100}}`, `{"n":"5"}`, unknown},
		{`{"/n":{"max":100}}`, `{"n":null}`, unknown},
		{`{"/n":{"max":100}}`, `{"n":[5]}`, unknown},
		{`{"/n":{"max":100}}`, `{}`, unknown},
		{`{"/n":{"max":100}}`, `{"N":5}`, unknown},
		{`{"/n":{"max":100}}`, `{"n":5,"N":500}`, unknown},
		{`{"/\u017f":1}`, `{"ſ":1,"s":2}`, unknown},
		{`{"/n":{"max":100,"min":10}}`, `{"n":9}`, no},
		{`{"/n":{"max":100},"/m":1}`, `{"n":5}`, unknown},
		{`{"/n":{"max":100},"/m":1}`, `{"n":500}`, no},
		{`{"/n":1}`, `{"n":1e0}`, yes},
		{`{"/n":1}`, `{"n":1.0000000000000000000000001}`, unknown},
		{`{"/n":1}`, `{"n":2}`, no},
		{`{"/n":1}`, `{"n":"1"}`, unknown},
		{`{"/n":1}`, `{"n":true}`, unknown},
		{`{"/n":"a"}`, `{"n":"\u0061"}`, yes},
		{`{"/n":"a"}`, `{"n":["a"]}`, unknown},
		{`{"/n":null}`, `{"n":null}`, yes},
		{`{"/n":null}`, `{}`, unknown},
		{`{"/n":["a",1]}`, `{"n":["a",1.0]}`, yes},
		{`{"/n":["a",1]}`, `{"n":["a"]}`, no},
		{`{"/n":["a",1]}`, `{"n":{"0":"a","1":1}}`, unknown},
		{`{"/n":{"in":[{"a":1,"b":2}]}}`, `{"n":{"b":2.0,"a":1}}`, yes},
		{`{"/n":{"in":[{"a":1}]}}`, `{"n":{"a":2}}`, no},
		{`{"/n":{"not_in":[{"a":1}]}}`, `{"n":{"A":1}}`, unknown},
		{`{"/n":{"not_in":[{"a":1}]}}`, `{"n":{"a":1,"b":null}}`, unknown},
		{`{"/n":{"not_in":[{"a":1,"A":1}]}}`, `{"n":{"a":2,"A":1}}`, unknown},
		{`{"/n":{"in":["a","b"]}}`, `{"n":"b"}`, yes},
		{`{"/n":{"in":["a","b"]}}`, `{"n":"c"}`, no},
		{`{"/n":{"in":["a","b"]}}`, `{"n":1}`, unknown},
		{`{"/n":{"not_in":["a"]}}`, `{"n":"b"}`, yes},
		{`{"/n":{"not_in":["a"]}}`, `{"n":"a"}`, no},
		{`{"/n":{"not_in":["a"]}}`, `{"n":["a"]}`, unknown},
		{`{"/n":{"not_in":["a"]}}`, `{"n":5}`, unknown},
		{`{"/n":{"not_in":["a"]}}`, `{}`, unknown},
		{`{"/n":{"not_in":["a",5]}}`, `{"n":6}`, yes},
		{`{"/n":{"not_in":[100]}}`, `{"n":99.999999999999999999999}`, unknown},
		{`{"/a/0":1}`, `{"a":[1]}`, yes},
		{`{"/a/0":1}`, `{"a":{"0":1}}`, yes},
		{`{"/a/00":1}`, `{"a":[1]}`, unknown},
		{`{"/a/-":1}`, `{"a":[1]}`, unknown},
		{`{"/a/1":1}`, `{"a":[1]}`, unknown},
		{`{"/a/b":1}`, `{"a":"{\"b\":1}"}`, unknown},
		{`{"/a~1b~0":1}`, `{"a/b~":1}`, yes},
		{`{"/":1}`, `{"":1}`, yes},
		{`{"":{"in":[{"a":1}]}}`, `{"a":1}`, yes},
		{`{"` + strings.Repeat("/a", 16) + `":1}`, deep, unknown},
	} {
		v, err := value.Decode([]byte(tc.when), 16)
		if err != nil {
			t.Fatal(err)
		}
		list, err := parseWhen(v)
		if err != nil {
			t.Fatalf("%s: %v", tc.when, err)
		}
		input, err := value.Decode([]byte(tc.input), 32)
		if err != nil {
			t.Fatal(err)
		}
		if got := hold(list, input); got != tc.want {
			t.Errorf("%s of %s is %d, want %d", tc.when, tc.input, got, tc.want)
		}
		if again, _ := value.Decode(whenJSON(list), 16); fmt.Sprint(again) == "" {
			t.Errorf("%s is written as %s", tc.when, whenJSON(list))
		} else if back, err := parseWhen(again); err != nil || hold(back, input) != tc.want {
			t.Errorf("%s is written as %s, %v", tc.when, whenJSON(list), err)
		}
	}
}

// Without facts nothing is granted on terms, and every denial stands.
func TestWithoutFacts(t *testing.T) {
	r := Need("crud", "w/a")
	for text, want := range map[string]bool{
		`[{"with":"w","can":"crud","when":{"/a":1}}]`:                                                              false,
		`[{"with":"w","can":"crud","until":"2999-01-01T00:00:00Z"}]`:                                               false,
		`[{"with":"w","can":"crud","ask":true}]`:                                                                   false,
		`[{"with":"w","can":"crud"},{"with":"w","can":"crud","deny":true,"until":"2001-01-01T00:00:00Z"}]`:         false,
		`[{"with":"w","can":"crud"},{"with":"w","can":"crud","deny":true,"when":{"/a":1}}]`:                        false,
		`[{"with":"w","can":"crud"},{"with":"w/a/b","can":"crud","deny":true}]`:                                    false,
		`[{"with":"w","can":"crud"},{"with":"w/b","can":"crud","deny":true}]`:                                      true,
		`[{"with":"w","can":"crud"},{"with":"w/b","can":"crud","ask":true}]`:                                       true,
		`[{"with":"w","can":"crud/read"},{"with":"w/a","can":"crud","when":{"/a":1}},{"with":"o","can":"invoke"}]`: false,
	} {
		set, err := ParseSet([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		d := set.Check(r)
		if d.IsAllowed() != want || d.Settle(Facts{}).IsAllowed() != want || (d.Denial("op") == nil) != want {
			t.Errorf("%s: Check = %v, Settle = %v, want %v", text, d.IsAllowed(), d.Settle(Facts{}).IsAllowed(), want)
		}
	}
}

func TestHandingOnTerms(t *testing.T) {
	const most = `{"with":"w/","can":"crud","when":{"/n":{"max":100}}}`
	for _, tc := range []struct {
		parent, child string
		want          bool
	}{
		{most, `{"with":"w/a","can":"crud/read"}`, false},
		{most, `{"with":"w/a","can":"crud/read","when":{"/n":{"max":101}}}`, false},
		{most, `{"with":"w/a","can":"crud/read","when":{"/m":{"max":1}}}`, false},
		{most, `{"with":"w/a","can":"crud/read","when":{"/n":{"max":100.0}}}`, true},
		{most, `{"with":"w/a","can":"crud/read","when":{"/n":7}}`, true},
		{most, `{"with":"w/a","can":"crud/read","when":{"/n":{"max":5},"/m":1},"ask":true,"until":"2027-01-01T00:00:00Z"}`, true},
		{`{"with":"w/","can":"crud","ask":true}`, `{"with":"w/a","can":"crud"}`, false},
		{`{"with":"w/","can":"crud","ask":true}`, `{"with":"w/a","can":"crud","ask":true}`, true},
		{`{"with":"w/","can":"crud","until":"2027-01-01T00:00:00Z"}`, `{"with":"w/a","can":"crud"}`, false},
		{`{"with":"w/","can":"crud","until":"2027-01-01T00:00:00Z"}`, `{"with":"w/a","can":"crud","until":"2027-01-01T00:00:01Z"}`, false},
		{`{"with":"w/","can":"crud","until":"2027-01-01T00:00:00Z"}`, `{"with":"w/a","can":"crud","until":"2027-01-01T00:00:00Z"}`, true},
		{`{"with":"w/","can":"crud"}`, `{"with":"w/a","can":"crud","ask":true}`, true},
		{`{"with":"w/","can":"crud"},{"with":"w/a","can":"*","deny":true}`, `{"with":"w/a/b","can":"crud"}`, false},
		{`{"with":"w/","can":"crud"},{"with":"w/a","can":"*","deny":true}`, `{"with":"w/","can":"crud"}`, true},
		{`{"with":"w/","can":"crud"},{"with":"w/a","can":"*","deny":true,"when":{"/n":1}}`, `{"with":"w/a","can":"crud"}`, true},
		{`{"with":"w/","can":"crud"}`, `{"with":"g/","can":"*","deny":true}`, true},
		{`{"with":"w/","can":"crud","when":{"/n":{"in":[1,2,3]}}}`, `{"with":"w/","can":"crud","when":{"/n":{"in":[2,3.0]}}}`, true},
		{`{"with":"w/","can":"crud","when":{"/n":{"in":[1,2,3]}}}`, `{"with":"w/","can":"crud","when":{"/n":{"in":[2,4]}}}`, false},
		{`{"with":"w/","can":"crud","when":{"/n":{"not_in":["a"]}}}`, `{"with":"w/","can":"crud","when":{"/n":{"not_in":["a","b"]}}}`, true},
		{`{"with":"w/","can":"crud","when":{"/n":{"not_in":["a","b"]}}}`, `{"with":"w/","can":"crud","when":{"/n":{"not_in":["a"]}}}`, false},
		{`{"with":"w/","can":"crud","when":{"/n":{"not_in":["a"]}}}`, `{"with":"w/","can":"crud","when":{"/n":{"not_in":["a",1]}}}`, false},
	} {
		parent, err := ParseSet([]byte("[" + tc.parent + "]"))
		if err != nil {
			t.Fatal(err)
		}
		child, err := ParseSet([]byte("[" + tc.child + "]"))
		if err != nil {
			t.Fatal(err)
		}
		if missing := parent.Gaps(child); (len(missing) == 0) != tc.want {
			t.Errorf("%v hands on %v: missing %v, want %v", parent, child, missing, tc.want)
		}
	}
}

// What is too much to compare holds nothing, and says so; what has no input that could
// meet it is left out.
func TestTermsInCommon(t *testing.T) {
	some := func(n int, of string) Set {
		list := make([]Capability, n)
		for i := range list {
			c, err := MustCapability("w/", "crud").On(Terms{When: fmt.Appendf(nil, `{"/%s%d":1}`, of, i)})
			if err != nil {
				t.Fatal(err)
			}
			list[i] = c
		}
		return Of(list...)
	}
	both := some(40, "a").Intersect(some(40, "b"))
	if denial := both.Check(Need("crud", "w/x")).Denial("op"); !both.IsEmpty() || denial == nil || !strings.Contains(denial.Why, "more than 4096 capabilities in common, or 1024") {
		t.Errorf("%d capabilities, %v", both.Len(), denial)
	}
	if both := some(30, "a").Intersect(some(30, "b")); both.Len() != 900 {
		t.Errorf("%d capabilities of 30 and 30", both.Len())
	}
	for _, pair := range [][2]string{
		{`{"/n":1}`, `{"/n":2}`},
		{`{"/n":{"in":["a","b"]}}`, `{"/n":{"in":["c"]}}`},
		{`{"/n":{"not_in":["a"]}}`, `{"/n":{"not_in":[1]}}`},
	} {
		a, err := MustCapability("w/", "crud").On(Terms{When: json.RawMessage(pair[0])})
		b, err2 := MustCapability("w/", "crud").On(Terms{When: json.RawMessage(pair[1])})
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if both := Of(a).Intersect(Of(b)); both.Len() != 0 {
			t.Errorf("%s and %s meet in %v", pair[0], pair[1], both)
		}
	}
}

// A denial says what did not hold, of four capabilities at most, and shows what the
// input has only where it may.
func TestLacks(t *testing.T) {
	set, err := ParseSet([]byte(`[
		{"with":"w/","can":"crud","when":{"/n":{"max":100},"/s":"x"}},
		{"with":"w/","can":"crud","until":"2026-01-01T00:00:00Z"},
		{"with":"g/","can":"crud","when":{"/n":{"max":100}}}]`))
	if err != nil {
		t.Fatal(err)
	}
	f := Facts{Now: time.Date(2026, 1, 1, 0, 0, 1, 0, time.UTC), Input: map[string]any{"n": json.Number("250"), "s": []any{"x"}}}
	d := set.Check(Need("crud", "w/a")).Settle(f)
	for reveal, want := range map[bool]string{
		true:  `/n is 250, not at most 100; /s is an array, not "x"; it ended at 2026-01-01T00:00:00Z`,
		false: `/n is not at most 100; /s is not "x"; it ended at 2026-01-01T00:00:00Z`,
	} {
		if got := d.Lacks(f, reveal); got != want {
			t.Errorf("Lacks(%v) = %q, want %q", reveal, got, want)
		}
	}
	if got := set.Check(Need("invoke", "o/a")).Lacks(f, true); got != "" {
		t.Errorf("what nothing matches lacks %q", got)
	}
	if got := set.Check(Need("crud", "g/a")).Settle(Facts{Input: map[string]any{"n": json.Number("1")}}).Lacks(f, true); got != "" {
		t.Errorf("what is allowed lacks %q", got)
	}
}

// However many capabilities are on terms, a decision on them takes no memory.
func TestSettleTakesNoMemory(t *testing.T) {
	set, err := ParseSet([]byte(`[{"with":"w/","can":"crud","when":{"/n":{"max":100}}},{"with":"w/b","can":"crud","deny":true}]`))
	if err != nil {
		t.Fatal(err)
	}
	f := Facts{Input: map[string]any{"n": json.Number("50")}}
	r := Need("crud", "w/a")
	if n := testing.AllocsPerRun(100, func() {
		if !set.Check(r).Settle(f).IsAllowed() {
			t.Fatal("denied")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
