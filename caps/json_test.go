package caps

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestParseSet(t *testing.T) {
	for in, want := range map[string]string{
		`null`:                              "(unrestricted)",
		` null `:                            "(unrestricted)",
		`[]`:                                "(none)",
		`[{"with":"w/","can":"crud/read"}]`: "crud/read on w/",
		`[{"can":"crud","with":"/w/x"},{"with":"","can":"*"}]`:                "crud on w/x, * on (any)",
		`[{"with":"file://","can":"crud"},{"with":"file://s/","can":"crud"}]`: "crud on file://, crud on file://s/",
		`[{"with":"/","can":"crud"}]`:                                         "crud on (any)",
	} {
		set, err := ParseSet([]byte(in))
		if err != nil || set.String() != want {
			t.Errorf("ParseSet(%s) = %v, %v, want %s", in, set, err, want)
			continue
		}
		out, err := json.Marshal(set)
		if err != nil {
			t.Errorf("Marshal(%v) = %v", set, err)
		}
		if back, err := ParseSet(out); err != nil || back.String() != want {
			t.Errorf("ParseSet(%s) = %v, %v, want %s", out, back, err, want)
		}
	}
}

func TestParseSetRefuses(t *testing.T) {
	for in, want := range map[string]string{
		``:                              "caps: malformed JSON",
		`[`:                             "caps: malformed JSON",
		`"[]"`:                          "caps is a string",
		`"null"`:                        "caps is a string",
		`""`:                            "caps is a string",
		`{}`:                            "caps is an object",
		`{"with":"","can":"*"}`:         "caps is an object",
		`0`:                             "caps is a number",
		`false`:                         "caps is a boolean",
		`[] []`:                         "after top-level value",
		`null null`:                     "after top-level value",
		`[null]`:                        "caps[0]: ",
		`["*"]`:                         "caps[0]: ",
		`[[]]`:                          "caps[0]: ",
		`[{}]`:                          `caps[0]: "with" is missing`,
		`[{"with":"w/"}]`:               `caps[0]: "can" is missing`,
		`[{"can":"crud"}]`:              `caps[0]: "with" is missing`,
		`[{"with":null,"can":"crud"}]`:  `caps[0]: "with" is null`,
		`[{"with":"w","can":["crud"]}]`: `caps[0]: "can" is an array`,
		`[{"with":"w","can":1.5}]`:      `caps[0]: "can" is a number`,
		`[{"With":"w","can":"crud"}]`:   `caps[0]: unknown key "With"`,
		`[{"with":"w","CAN":"crud","can":"crud"}]`:                `caps[0]: unknown key "CAN"`,
		`[{"with":"w","can":"crud","nb":{}}]`:                     `caps[0]: unknown key "nb"`,
		`[{"with":"w","can":"crud"},{"with":"","with":"w"}]`:      `caps[1]: key "with" stands twice`,
		`[{"with":"w","can":"crud"},{"with":"w","can":"Crud"}]`:   `write e.g. "crud"`,
		`[{"with":"w/../s","can":"crud"}]`:                        `caps[0]: resource "w/../s"`,
		`[{"with":"w\u0000","can":"crud"}]`:                       "control character",
		`[{"with":"w/\ufffd","can":"crud"}]`:                      "U+FFFD",
		`[{"with":"w/\ud83d","can":"crud"}]`:                      "surrogate",
		"[{\"with\":\"w/\xff\",\"can\":\"crud\"}]":                "UTF-8",
		`[{"with":"w","can":"crud",}]`:                            "malformed JSON",
		`[{"with":"w","can":"crud"}`:                              "malformed JSON",
		strings.Repeat("[", 100_000):                              "nested",
		`[{"with":"w","can":"crud"},{"with":` + "\"w\"" + `}]`:    `caps[1]: "can" is missing`,
		`[{"with":"w","can":"crud"}, {"a":{"b":1,"b":2}}]`:        `caps[1].a: key "b" stands twice`,
		`[{"with":"w","can":"crud"}, {"\nkey":1,"with":"w"}]`:     `caps[1]: unknown key "\nkey"`,
		`[{"with":"w","can":"crud"}, {"with":"w","can":"crud"}]x`: "after top-level value",
	} {
		set, err := ParseSet([]byte(in))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseSet(%.80s) = %v, %v, want an error with %q", in, set, err, want)
			continue
		}
		checkPrintable(t, err)
		if !set.IsEmpty() {
			t.Errorf("ParseSet(%.80s) returns %v with its error", in, set)
		}
		decoded, declared := Unrestricted(), Declare(Unrestricted())
		if json.Unmarshal([]byte(in), &decoded) == nil || decoded.c != nil && json.Valid([]byte(in)) {
			t.Errorf("Unmarshal(%.80s) leaves the set %v", in, decoded)
		}
		if json.Unmarshal([]byte(in), &declared) == nil {
			t.Errorf("Unmarshal(%.80s) of Declared = nil, want an error", in)
		}
		if set, ok := declared.Set(); json.Valid([]byte(in)) && (!ok || !set.IsEmpty()) {
			t.Errorf("Unmarshal(%.80s) leaves Declared with %v, %v", in, set, ok)
		}
	}
}

func TestCapabilityJSON(t *testing.T) {
	var c Capability
	if err := json.Unmarshal([]byte(`{"with":"/w/x/","can":"crud"}`), &c); err != nil || c != MustCapability("w/x/", "crud") {
		t.Errorf("Unmarshal = %v, %v", c, err)
	}
	out, err := json.Marshal(c)
	if want := `{"with":"w/x/","can":"crud"}`; err != nil || string(out) != want {
		t.Errorf("Marshal = %s, %v, want %s", out, err, want)
	}
	for _, in := range []string{`null`, `[]`, `"crud"`, `{"with":"w"}`, `{"with":"w","can":"crud","x":1}`} {
		c = MustCapability("w", "crud")
		if err := json.Unmarshal([]byte(in), &c); err == nil || c != (Capability{}) {
			t.Errorf("Unmarshal(%s) = %v, %v, want an error", in, c, err)
		}
	}
}

func TestDeclaredJSON(t *testing.T) {
	type agent struct {
		Caps Declaration `json:"caps,omitzero"`
	}
	for in, want := range map[string]struct {
		present, null, list bool
		out                 string
	}{
		`{}`:                                    {false, false, false, `{}`},
		`{"caps":null}`:                         {true, true, false, `{"caps":null}`},
		`{"caps":[]}`:                           {true, false, true, `{"caps":[]}`},
		`{"caps":[{"with":"w/","can":"crud"}]}`: {true, false, true, `{"caps":[{"with":"w/","can":"crud"}]}`},
	} {
		var a agent
		if err := json.Unmarshal([]byte(in), &a); err != nil {
			t.Errorf("Unmarshal(%s) = %v", in, err)
		}
		_, list := a.Caps.Set()
		if a.Caps.Present() != want.present || a.Caps.IsNull() != want.null || list != want.list {
			t.Errorf("%s: present %v, null %v, list %v", in, a.Caps.Present(), a.Caps.IsNull(), list)
		}
		if out, err := json.Marshal(a); err != nil || string(out) != want.out {
			t.Errorf("Marshal = %s, %v, want %s", out, err, want.out)
		}
	}
}
