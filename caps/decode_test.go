package caps

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
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
		`[`:                             "caps[0]: malformed JSON",
		`"[]"`:                          "caps is a string",
		`"null"`:                        "caps is a string",
		`""`:                            "caps is a string",
		`{}`:                            "caps is an object",
		`{"with":"","can":"*"}`:         "caps is an object",
		`0`:                             "caps is a number",
		`false`:                         "caps is a boolean",
		`[] []`:                         "send one value",
		`null null`:                     "send one value",
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
		`[{"with":"w","can":"crud"}, {"with":"w","can":"crud"}]x`: "send one value",
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
		Caps Declared `json:"caps,omitzero"`
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

// yamlAgent is what holds a Declared: it tells null from absent.
type yamlAgent struct {
	ID   string   `yaml:"id"`
	Caps Declared `yaml:"caps,omitempty"`
}

func (a *yamlAgent) UnmarshalYAML(unmarshal func(any) error) error {
	type plain yamlAgent
	if err := unmarshal((*plain)(a)); err != nil {
		return err
	}
	return a.Caps.FindNull(unmarshal, "caps")
}

// What goccy/go-yaml does by itself. It never makes a null out of what is none.
func TestDeclaredYAMLNullByItself(t *testing.T) {
	type agent struct {
		Caps Declared `yaml:"caps"`
	}
	for _, in := range []string{"caps:", "caps: ~", "caps: null"} {
		var a agent
		if err := yaml.Unmarshal([]byte(in), &a); err != nil || a.Caps.Present() {
			t.Errorf("Unmarshal(%q) = %v, present %v: the decoder has learnt to tell null, FindNull can go", in, err, a.Caps.Present())
		}
	}
}

func TestDeclaredYAML(t *testing.T) {
	type agent = yamlAgent
	for in, want := range map[string]struct {
		present, null bool
		set           string // "" where there is no list
	}{
		"id: a\n":              {false, false, ""},
		"id: a\ncaps:\n":       {true, true, ""},
		"id: a\ncaps: ~\n":     {true, true, ""},
		"id: a\ncaps: null\n":  {true, true, ""},
		"caps: null\nid: a\n":  {true, true, ""},
		"id: a\ncaps: &n ~\n":  {true, true, ""},
		"id: &n ~\ncaps: *n\n": {true, true, ""},
		"id: a\ncaps: []\n":    {true, false, "(none)"},
		"id: a\ncaps: [{with: w/, can: crud/read}]\n":          {true, false, "crud/read on w/"},
		"id: a\ncaps:\n  - with: w/\n    can: crud\n":          {true, false, "crud on w/"},
		"id: a\ncaps:\n  - {with: \"\", can: \"*\"}\n":         {true, false, "* on (any)"},
		"id: a\ncaps: [{with: did:key:zA/w, can: crud}]\n":     {true, false, "crud on did:key:zA/w"},
		"id: a\ncaps: [&c {with: w/, can: crud}, *c]\n":        {true, false, "crud on w/, crud on w/"},
		"id: a\ncaps: [{with: \"https://h/x\", can: net/get}]": {true, false, "net/get on https://h/x"},
	} {
		var a agent
		if err := yaml.UnmarshalWithOptions([]byte(in), &a, yaml.Strict()); err != nil {
			t.Errorf("Unmarshal(%q) = %v", in, err)
			continue
		}
		set, list := a.Caps.Set()
		if a.Caps.Present() != want.present || a.Caps.IsNull() != want.null || list != (want.set != "") || list && set.String() != want.set {
			t.Errorf("%q: present %v, null %v, list %v %v, want %v", in, a.Caps.Present(), a.Caps.IsNull(), list, set, want)
		}
		out, err := yaml.Marshal(a)
		if err != nil {
			t.Errorf("Marshal = %v", err)
		}
		var back agent
		if err := yaml.Unmarshal(out, &back); err != nil || back.Caps.Present() != want.present || back.Caps.IsNull() != want.null || !back.Caps.set.Equal(a.Caps.set) {
			t.Errorf("%q comes back from %q as %+v, %v", in, out, back, err)
		}
	}
}

func TestDeclaredYAMLRefuses(t *testing.T) {
	type agent = yamlAgent
	for in, want := range map[string]string{
		"caps: \"\"":                              "caps is a string",
		"caps: none":                              "caps is a string",
		"caps: \"null\"":                          "caps is a string",
		"caps: \"[]\"":                            "caps is a string",
		"caps: {}":                                "caps is an object",
		"caps: {with: w, can: crud}":              "caps is an object",
		"caps: 0":                                 "caps is a number",
		"caps: false":                             "caps is a boolean",
		"caps: .nan":                              "caps is a number",
		"caps: [~]":                               "caps[0]",
		"caps: [w]":                               "caps[0]",
		"caps: [{with: w/}]":                      `caps[0]: "can" is missing`,
		"caps: [{can: crud}]":                     `caps[0]: "with" is missing`,
		"caps: [{with: , can: crud}]":             `"with" is null`,
		"caps: [{with: 1.5, can: crud}]":          `"with" is a number`,
		"caps: [{with: 7, can: crud}]":            `"with" is a number`,
		"caps: [{with: w, can: yes, 1: 2}]":       `unknown key "1"`,
		"caps: [{with: w, can: true}]":            `"can" is a boolean`,
		"caps: [{With: w, can: crud}]":            `unknown key "With"`,
		"caps: [{with: w, with: \"\", can: a}]":   "already defined",
		"caps: [{with: !!binary dw==, can: a}]":   `"with" is binary data`,
		"caps: [{with: w, can: crud/*}]":          `write e.g. "crud"`,
		"caps: *missing":                          "missing",
		"caps: [*missing]":                        "missing",
		"caps: &a *a":                             "",
		"caps: [{with: w, can: a}]\ncaps: null\n": "already defined",
	} {
		a := agent{Caps: Declare(Unrestricted())}
		err := yaml.Unmarshal([]byte(in), &a)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Unmarshal(%q) = %v (%v, null %v), want an error with %q", in, err, a.Caps.set, a.Caps.IsNull(), want)
		}
	}
}

func TestFailedYAMLDenies(t *testing.T) {
	broken := func(any) error { return errors.New("broken") }
	set, declared, capability := Unrestricted(), Declare(Unrestricted()), MustCapability("", "*")
	if err := set.UnmarshalYAML(broken); err == nil || !set.IsEmpty() {
		t.Errorf("Set after an error = %v, %v", set, err)
	}
	err := declared.UnmarshalYAML(broken)
	if left, ok := declared.Set(); err == nil || !ok || !left.IsEmpty() {
		t.Errorf("Declared after an error = %v, %v, %v", left, ok, err)
	}
	if err := capability.UnmarshalYAML(broken); err == nil || capability != (Capability{}) {
		t.Errorf("Capability after an error = %v, %v", capability, err)
	}
	var absent Declared
	if err := absent.FindNull(broken, "caps"); err == nil || absent.Present() {
		t.Errorf("FindNull after an error = %v, present %v", err, absent.Present())
	}
}

func TestSetAndCapabilityYAML(t *testing.T) {
	type rule struct {
		Caps Set        `yaml:"caps"`
		One  Capability `yaml:"one"`
	}
	want := rule{Of(MustCapability("w/", "crud")), MustCapability("g/x", "agent")}
	out, err := yaml.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got rule
	if err := yaml.Unmarshal(out, &got); err != nil || got.Caps.String() != want.Caps.String() || got.One != want.One {
		t.Errorf("%s comes back as %v, %v", out, got, err)
	}
	if err := yaml.Unmarshal([]byte("one: {with: w}"), &got); err == nil {
		t.Error("a capability without ability is no error")
	}
}
