package form_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"usher/caps"
	"usher/tools/form"
	"usher/tools/schema"
)

// house is a form with a field of each kind.
type house struct {
	_      struct{}          `noun:"a house" required:"name" example:"{'name': 'Mill'}"`
	Name   string            `json:"name" example:"Mill"`
	Colour string            `json:"colour,omitempty" enum:"red|blue" want:"red or blue" example:"red"`
	Sound  bool              `json:"sound,omitempty" example:"true"`
	Floors int               `json:"floors,omitempty" example:"2"`
	Cellar int64             `json:"cellar,omitempty" min:"0" example:"0"`
	Size   int               `json:"size,omitempty" unit:"bytes" example:"1KiB"`
	Heats  time.Duration     `json:"heats,omitempty" example:"5m"`
	Doors  []string          `json:"doors,omitempty" noun:"a door" example:"['front']"`
	Rooms  []room            `json:"rooms,omitempty" example:"[{'use': 'hall'}]"`
	Plan   json.RawMessage   `json:"plan,omitempty" kind:"object" example:"{'a': 1}"`
	Any    json.RawMessage   `json:"any,omitempty"`
	Owner  *room             `json:"owner,omitempty"`
	Keys   map[string]string `json:"keys,omitempty" noun:"key" example:"{'front': 'hall'}"`
	Caps   caps.Declaration  `json:"caps,omitzero" example:"[{'with': 'w/', 'can': 'crud/read'}]"`
}

type room struct {
	_    struct{} `noun:"a room" example:"{'use': 'hall'}"`
	Use  string   `json:"use,omitempty" example:"hall"`
	With int      `json:"with,omitempty" example:"1"`
}

// Check refuses one use.
func (r *room) Check() error {
	if r.Use == "void" {
		return form.In("use", errors.New("a room is of use: write which"))
	}
	return nil
}

var compared = cmp.Options{
	cmp.Comparer(func(a, b caps.Declaration) bool {
		x, okX := a.Set()
		y, okY := b.Set()
		return a.Present() == b.Present() && a.IsNull() == b.IsNull() && okX == okY && x.String() == y.String()
	}),
	cmp.Transformer("text", func(m json.RawMessage) string { return string(m) }),
}

func TestUnmarshal(t *testing.T) {
	const text = `{"name":"Mill","colour":"red","sound":true,"floors":2,"cellar":0,"size":"2KiB","heats":"90s","doors":["a","b"],
		"rooms":[{"use":"hall"},{"with":1}],"plan":{"b":1.50,"a":[]},"any":null,"owner":{"use":"x"},"keys":{"front":"k"},"caps":[]}`
	want := house{
		Name: "Mill", Colour: "red", Sound: true, Floors: 2, Size: 2048, Heats: 90 * time.Second, Doors: []string{"a", "b"},
		Rooms: []room{{Use: "hall"}, {With: 1}}, Plan: json.RawMessage(`{"a":[],"b":1.50}`), Any: json.RawMessage("null"), Owner: &room{Use: "x"},
		Keys: map[string]string{"front": "k"}, Caps: caps.Declare(caps.Of()),
	}
	var got house
	if err := form.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, compared); diff != "" {
		t.Errorf("Unmarshal (-want +got):\n%s", diff)
	}
	// What does not stand there stays.
	if err := form.Unmarshal([]byte(`{"name":"Barn","doors":[],"colour":null,"heats":"1s","owner":{}}`), &got); err != nil {
		t.Fatal(err)
	}
	want.Name, want.Doors, want.Heats, want.Owner = "Barn", []string{}, time.Second, new(room)
	if diff := cmp.Diff(want, got, compared); diff != "" {
		t.Errorf("a second Unmarshal (-want +got):\n%s", diff)
	}
}

func TestNearest(t *testing.T) {
	for _, tt := range []struct{ name, known, want string }{
		{"Carl", "Carol", "Carol"},
		{"naem", "name", "name"},
		{"a", "ab", "ab"},
		{"B", "C", ""},
		{"b", "B", "B"},
		{"Carol", "Dan", ""},
	} {
		if got := form.Nearest(tt.name, []string{tt.known}); got != tt.want {
			t.Errorf("Nearest(%q, [%q]) = %q, want %q", tt.name, tt.known, got, tt.want)
		}
	}
}

func TestFaults(t *testing.T) {
	for _, tt := range []struct{ text, json, yaml string }{
		{`{"name":"x","colur":1}`, `unknown key "colur" in a house: did you mean "colour"?`, ""},
		{`{"name":"x","Name":1}`, `unknown key "Name" in a house: did you mean "name"?`, ""},
		{`{"name":"x","naem":1}`, `unknown key "naem" in a house: did you mean "name"?`, ""},
		{`{"name":"x","rooms":[{},{"us":1}]}`, `rooms[1]: unknown key "us" in a room: did you mean "use"?`, `unknown key "us" in a room: did you mean "use"?`},
		{`{}`, `a house lacks "name": write for example name: Mill`, ""},
		{`[]`, `a house is a list here: write an object, for example {"name": "Mill"}`, `a house is a list here: write an object, for example {name: Mill}`},
		{`{"name":7}`, `name is a number: in quotes it is text, name: "7"`, ""},
		{`{"name":"x","colour":"green"}`, `colour "green": write red or blue`, ""},
		{`{"name":"x","sound":"yes"}`, `sound is text: write true or false, for example sound: true`, ""},
		{`{"name":"x","floors":0}`, `floors is 0: write a whole number above 0, for example floors: 2`, ""},
		{`{"name":"x","floors":1.0}`, `floors is 1.0: write a whole number above 0, for example floors: 2`, ""},
		{`{"name":"x","floors":2147483648}`, `floors is 2147483648: write a whole number above 0, for example floors: 2`, ""},
		{`{"name":"x","floors":null}`, `floors is null: write a whole number above 0, for example floors: 2, or leave it out`, ""},
		{`{"name":"x","cellar":-1}`, `cellar is -1: write a whole number, for example cellar: 0`, ""},
		{`{"name":"x","size":"1GiB"}`, `size is "1GiB": write a size up to 1024MiB, for example size: 1KiB`, ""},
		{`{"name":"x","heats":"0s"}`, `heats is "0s": write a time with its unit, for example heats: 5m`, ""},
		{`{"name":"x","doors":"a"}`, `doors is text: write a list, for example doors: ["front"]`, `doors is text: write a list, for example doors: [front]`},
		{`{"name":"x","doors":["a",1]}`, `doors[1]: a door is a number here: write text, for example front`, `a door is a number here: write text, for example front`},
		{`{"name":"x","rooms":[1]}`, `rooms[0]: a room is a number here: write an object, for example {"use": "hall"}`, `a room is a number here: write an object, for example {use: hall}`},
		{`{"name":"x","rooms":[{"use":"void"}]}`, `rooms[0]: a room is of use: write which`, `a room is of use: write which`},
		{`{"name":"x","plan":[]}`, `plan is a list: write an object, for example plan: {"a": 1}`, `plan is a list: write an object, for example plan: {a: 1}`},
		{`{"name":"x","owner":null}`, `a room is null here: write an object, for example {"use": "hall"}`, `a room is null here: write an object, for example {use: hall}`},
		{`{"name":"x","keys":[]}`, `keys is a list: write an object, for example keys: {"front": "hall"}`, `keys is a list: write an object, for example keys: {front: hall}`},
		{`{"name":"x","caps":"[]"}`, `caps is text: write a list, or [] for nothing, for example caps: [{"with": "w/", "can": "crud/read"}]`, `caps is text: write a list, or [] for nothing, for example caps: [{with: w/, can: crud/read}]`},
		{`{"name":"x","caps":[{"with":null,"can":"crud"}]}`, `caps[0]: with is null: write a resource, or "" for everything, for example with: w/`, `with is null: write a resource, or "" for everything, for example with: w/`},
		{`{"name":"x","caps":[{"can":"crud"}]}`, `caps[0]: a capability lacks "with": write for example with: w/`, `a capability lacks "with": write for example with: w/`},
		{`{"name":"x","caps":[{"with":"w/../s","can":"crud"}]}`, `caps[0]: resource "w/../s": a ".." segment: write the full path without it`, `resource "w/../s": a ".." segment: write the full path without it`},
		{`{"name":"x","floors":0,"sound":1}`, "sound is a number: write true or false, for example sound: true\nfloors is 0: write a whole number above 0, for example floors: 2", ""},
	} {
		if tt.yaml == "" {
			tt.yaml = tt.json
		}
		n, err := form.Parse([]byte(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		if err := form.Decode(n, new(house), form.JSON); err == nil || err.Error() != tt.json {
			t.Errorf("%s: %v\nwant %s", tt.text, err, tt.json)
		}
		var said []string
		faults, _ := errors.AsType[form.Faults](form.Decode(n, new(house), form.YAML))
		for _, f := range faults {
			said = append(said, f.Message)
		}
		if got := strings.Join(said, "\n"); got != tt.yaml {
			t.Errorf("%s as YAML: %s\nwant %s", tt.text, got, tt.yaml)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		``: "unexpected end", `{"a":1`: "unexpected end", `{"a":1}1`: "after top-level value", `{"a":1,"a":2}`: `key "a" stands twice`, "\"\xff\"": "UTF-8",
		`{"a":{"b":1,"b":1}}`: `key "b" stands twice`, strings.Repeat("[", 2000) + strings.Repeat("]", 2000): "too deep",
	} {
		if n, err := form.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%.40q) = %v, %v, want an error with %q", text, n, err, want)
		}
	}
}

// What is decoded is what the schema takes, but for the rules of a form's own.
func TestDecodeAndSchemaAgree(t *testing.T) {
	for style, name := range map[form.Style]string{form.YAML: "YAML", form.JSON: "JSON"} {
		raw, err := json.Marshal(form.Schema(reflect.TypeFor[house](), style))
		if err != nil {
			t.Fatal(err)
		}
		s, err := schema.Compile(t.Context(), raw, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			value := rapid.SampledFrom([]string{
				`null`, `true`, `0`, `1`, `-1`, `1.5`, `""`, `" "`, `"x"`, `"red"`, `"5m"`, `"0s"`, `"2KiB"`, `[]`, `{}`, `["a"]`, `[1]`, `[null]`, `[{}]`,
				`[{"use":"hall","with":1}]`, `{"use":"a"}`, `{"with":0}`, `{"z":1}`, `[{"with":"w/","can":"crud"}]`, `[{"with":"","can":"*"}]`, `[{"with":"w/"}]`, `[{"with":null,"can":"*"}]`,
			})
			rapid.Check(t, func(t *rapid.T) {
				fields := map[string]json.RawMessage{"name": json.RawMessage(`"x"`)}
				for range rapid.IntRange(1, 3).Draw(t, "fields") {
					key := rapid.SampledFrom([]string{"name", "colour", "sound", "floors", "cellar", "size", "doors", "rooms", "plan", "any", "owner", "keys", "caps", "colr"}).Draw(t, "key")
					fields[key] = json.RawMessage(value.Draw(t, "value"))
				}
				text, err := json.Marshal(fields)
				if err != nil {
					t.Fatal(err)
				}
				n, err := form.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				decoded, described := form.Decode(n, new(house), style), s.Validate(t.Context(), text, nil)
				// The schema of JSON leaves the texts of an enum to the decoder.
				if decoded != nil && strings.Contains(decoded.Error(), "write red or blue") && style == form.JSON {
					return
				}
				if (decoded == nil) != (described == nil) {
					t.Errorf("%s: Decode says %v, the schema says %v", text, decoded, described)
				}
			})
		})
	}
}

func TestOver(t *testing.T) {
	base := house{Name: "Mill", Floors: 2, Doors: []string{"a"}, Caps: caps.Declare(caps.Of())}
	got := form.Over(base, house{Floors: 3, Doors: []string{}})
	want := house{Name: "Mill", Floors: 3, Doors: []string{}, Caps: caps.Declare(caps.Of())}
	if diff := cmp.Diff(want, got, compared); diff != "" {
		t.Errorf("Over (-want +got):\n%s", diff)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a":[1.50,"<é>\u2028",null,true,{}],"b":{}}`, `[]`, `"x"`, `-0.0e5`, `{"a":1,"a":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		n, err := form.Parse(raw)
		if err != nil {
			return
		}
		text := n.JSON()
		again, err := form.Parse(text)
		if err != nil {
			t.Fatalf("%s was written for %s, and is no JSON: %v", text, raw, err)
		}
		if diff := cmp.Diff(n, again); diff != "" {
			t.Errorf("%s was written for %s (-was +is):\n%s", text, raw, diff)
		}
		if !json.Valid(raw) {
			t.Errorf("Parse takes %q, which is no JSON", raw)
		}
	})
}

// What others write may have very many faults, and very long names: what is told of them is
// short, and found soon.
func TestFaultsAreBounded(t *testing.T) {
	var many strings.Builder
	many.WriteString(`{"name":"x"`)
	for i := range 100_000 {
		fmt.Fprintf(&many, `,"k%d":1`, i)
	}
	many.WriteString("}")
	for name, text := range map[string]string{
		"many keys":   many.String(),
		"a long key":  `{"name":"x","` + strings.Repeat("k", 1<<20) + `":1}`,
		"a long text": `{"name":"x","colour":"` + strings.Repeat("k", 1<<20) + `"}`,
		"many items":  `{"name":"x","rooms":[` + strings.Repeat(`{"us":1},`, 50_000) + `{}]}`,
	} {
		err := form.Unmarshal([]byte(text), new(house))
		if err == nil || len(err.Error()) > 64<<10 {
			t.Errorf("%s: an error of %d bytes", name, len(fmt.Sprint(err)))
		}
	}
	if got := form.Nearest(strings.Repeat("k", 64<<20), slices.Repeat([]string{"a name that is known here"}, 1000)); got != "" {
		t.Errorf("Nearest of a long name = %q", got)
	}
}
