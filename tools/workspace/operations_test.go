package workspace_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/caps"
	"usher/tools"
	"usher/tools/toolstest"
	"usher/tools/workspace"
	"usher/ucan"
)

// desk is a gate with the operations on a real store, for one owner.
type desk struct {
	gate  *tools.Gate
	mint  *toolstest.Mint
	owner ucan.DID
	tree  *workspace.Tree
	ops   *tools.Registry
}

func newDesk(t testing.TB, opts *workspace.Options) desk {
	t.Helper()
	tree := newTree(t, newStore(t), opts)
	var registry tools.Registry
	if err := registry.Register(workspace.Operations(tree)...); err != nil {
		t.Fatal(err)
	}
	gate, mint := toolstest.NewGate(&registry, nil)
	key, err := ucan.KeyFromSeed(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return desk{gate, mint, key.DID(), tree, &registry}
}

// call runs one operation; the result is its output, or the error's text.
func (d desk) call(t testing.TB, set caps.Set, name, input string) string {
	t.Helper()
	auth := d.mint.Agent(d.owner, "Carol", func() caps.Set { return set })
	input = strings.ReplaceAll(input, "OWNER", d.owner.String())
	res, err := d.gate.Invoke(t.Context(), auth, tools.Invocation{Operation: name, Input: json.RawMessage(input)})
	if err != nil {
		return strings.ReplaceAll(err.Error(), d.owner.String(), "OWNER")
	}
	return string(res.Output)
}

type step struct{ name, input, want string }

func TestOperations(t *testing.T) {
	tests := []struct {
		name  string
		steps []step
	}{
		{"read and write", []step{
			{"covia:read", `{"path":"w/a"}`, `{"exists":false}`},
			{"covia:write", `{"path":"w/a/b","value":{"n":1.0,"list":[1,2]}}`, `{"written":true}`},
			{"covia:read", `{"path":"w/a"}`, `{"exists":true,"value":{"b":{"list":[1,2],"n":1.0}}}`},
			{"covia:read", `{"path":["w","a","b","list","1"]}`, `{"exists":true,"value":2}`},
			{"covia:read", `{"path":"/w/a/b/n/"}`, `{"exists":true,"value":1.0}`},
			{"covia:read", `{"path":"OWNER/w/a/b/n"}`, `{"exists":true,"value":1.0}`},
			{"covia:read", `{"path":"w/a","maxSize":10}`, `{"exists":true,"value":null,"truncated":true,"size":28}`},
			{"covia:write", `{"path":"w/nil","value":null}`, `{"written":true}`},
			{"covia:read", `{"path":"w/nil"}`, `{"exists":true,"value":null}`},
			{"covia:write", `{"path":"w/q","value":" {\"a\":[1]} "}`, `{"written":true}`},
			{"covia:read", `{"path":"w/q/a/0"}`, `{"exists":true,"value":1}`},
			{"covia:write", `{"path":"w/q","value":"{not json}"}`, `{"written":true}`},
			{"covia:read", `{"path":"w/q"}`, `{"exists":true,"value":"{not json}"}`},
		}},
		{"wrong ways to write", []step{
			{"covia:write", `{"path":"w/a","value":{"s":"text","list":[1]}}`, `{"written":true}`},
			{"covia:write", `{"path":"w/a/s/x","value":1}`, "w/a/s is a String, so nothing can be written below it: write a map there first, or use another path"},
			{"covia:write", `{"path":"w/a/list/1","value":1}`, "w/a/list/1 is just behind the end of the array: use covia:append on w/a/list to add an element"},
			{"covia:write", `{"path":"w/a/list/7","value":1}`, "w/a/list/7 is out of bounds: the array has length 1"},
			{"covia:write", `{"path":"w/a/list/00","value":1}`, `w/a/list is an array of length 1: name an element by its index, not "00"`},
			{"covia:append", `{"path":"w/a","value":1}`, "w/a is a Map: only an array can be appended to"},
			{"covia:write", `{"value":1}`, "invalid input for v/ops/covia/write: path is missing: give a path such as w/notes, as a string or as an array of segments"},
			{"covia:write", `{"path":"w/../g","value":1}`, `invalid input for v/ops/covia/write: path: `},
			{"covia:write", `{"path":"w/a"}`, `invalid input for v/ops/covia/write: `},
		}},
		{"append and delete", []step{
			{"covia:append", `{"path":"w/x/log","value":"one"}`, `{"appended":true}`},
			{"covia:append", `{"path":"w/x/log","value":"{\"two\":2}"}`, `{"appended":true}`},
			{"covia:delete", `{"path":"w/x/log/0"}`, `{"deleted":true}`},
			{"covia:read", `{"path":"w/x/log"}`, `{"exists":true,"value":[null,"{\"two\":2}"]}`},
			{"covia:delete", `{"path":"w/x"}`, `{"deleted":true}`},
			{"covia:delete", `{"path":"w/x"}`, `{"deleted":true}`},
			{"covia:delete", `{"path":"w/no/such/thing"}`, `{"deleted":true}`},
			{"covia:read", `{"path":"w/x"}`, `{"exists":false}`},
		}},
		{"list and slice", []step{
			{"covia:list", `{}`, `{"exists":true,"type":"Map","count":2,"keys":["o","w"]}`},
			{"covia:list", `{"path":""}`, `{"exists":true,"type":"Map","count":2,"keys":["o","w"]}`},
			{"covia:list", `{"path":"w"}`, `{"exists":true,"type":"Map","count":0,"keys":[]}`},
			{"covia:write", `{"path":"w/m","value":{"b":2,"a":1,"c":[]}}`, `{"written":true}`},
			{"covia:list", `{"path":"w/"}`, `{"exists":true,"type":"Map","count":1,"keys":["m"]}`},
			{"covia:list", `{"path":"w/m"}`, `{"exists":true,"type":"Map","count":3,"keys":["a","b","c"]}`},
			{"covia:list", `{"path":"w/m","offset":1,"limit":1}`, `{"exists":true,"type":"Map","count":3,"keys":["b"],"offset":1}`},
			{"covia:list", `{"path":"w/m/c"}`, `{"exists":true,"type":"Vector","count":0,"values":[]}`},
			{"covia:list", `{"path":"w/m/a"}`, `{"exists":true,"type":"Number"}`},
			{"covia:list", `{"path":"w/none"}`, `{"exists":false}`},
			{"covia:slice", `{"path":"w/m","offset":1}`, `{"exists":true,"type":"Map","count":3,"values":[{"key":"b","value":2},{"key":"c","value":[]}],"offset":1}`},
			{"covia:slice", `{"path":"w/m/a"}`, "w/m/a is a Number and has no parts: use covia:read"},
			{"covia:slice", `{"path":"w/none"}`, `{"exists":false}`},
			{"covia:slice", `{"path":"w/m","limit":-1}`, "limit is -1: it must be from 1 to 10000"},
		}},
		{"copy", []step{
			{"covia:write", `{"path":"w/a","value":{"x":{"y":1}}}`, `{"written":true}`},
			{"covia:copy", `{"from":"w/a","to":"w/a/x/again"}`, `{"copied":true}`},
			{"covia:read", `{"path":"w/a"}`, `{"exists":true,"value":{"x":{"again":{"x":{"y":1}},"y":1}}}`},
			{"covia:copy", `{"from":"g/Carol","to":"w/carol"}`, "invalid input for v/ops/covia/copy: g/Carol is no workspace data: g/ holds agents: agent:list and agent:info show them"},
			{"covia:copy", `{"from":"w/none","to":"w/b"}`, "source not found: there is nothing at w/none"},
			{"covia:copy", `{"from":"w/a"}`, "invalid input for v/ops/covia/copy: to is missing"},
			{"covia:copy", `{"from":"w","to":"w/all"}`, `{"copied":true}`},
			{"covia:read", `{"path":"w/all"}`, `{"exists":true,"value":{"a":{"x":{"again":{"x":{"y":1}},"y":1}}}}`},
			{"covia:write", `{"path":"o/p","value":{}}`, `{"written":true}`},
			{"covia:copy", `{"from":"o","to":"o/all"}`, "o/ cannot be copied to o/ as a whole"},
		}},
		{"what others keep", []step{
			{"covia:read", `{"path":"g/Carol"}`, "invalid input for v/ops/covia/read: g/Carol is no workspace data: g/ holds agents: agent:list and agent:info show them"},
			{"covia:list", `{"path":"g"}`, "invalid input for v/ops/covia/list: g is no workspace data: g/ holds agents"},
			{"covia:slice", `{"path":"j"}`, "invalid input for v/ops/covia/slice: j is no workspace data: j/ holds jobs: grid:jobStatus and grid:jobResult show them"},
			{"covia:inspect", `{"paths":["w/a","v/ops"]}`, "invalid input for v/ops/covia/inspect: v/ops is no workspace data: v/ holds the venue's operations"},
			{"covia:read", `{"path":"a/1"}`, "invalid input for v/ops/covia/read: a/1 is no workspace data: a/ holds assets"},
			{"covia:read", `{"path":"h/1"}`, `invalid input for v/ops/covia/read: path: there is no namespace "h": use w/ or o/`},
			{"covia:read", `{"path":""}`, "invalid input for v/ops/covia/read: path names no namespace: begin with w/ or o/"},
		}},
		{"inspect", []step{
			{"covia:write", `{"path":"w/a","value":{"name":"Acme & Co","two words":[1,2]}}`, `{"written":true}`},
			{"covia:inspect", `{"paths":"w/a/name"}`, `{"result":"\"Acme & Co\""}`},
			{"covia:inspect", `{"paths":["w/a/two words","w/b"]}`, `{"result":{"w/a/two words":"[1, 2]","w/b":"/* nothing here */"}}`},
			{"covia:inspect", `{"paths":"w/a","compact":false}`, `{"result":"{\n  name: \"Acme & Co\",\n  \"two words\": [\n    1,\n    2\n  ]\n}"}`},
			{"covia:inspect", `{}`, "invalid input for v/ops/covia/inspect: paths is missing: give a path such as w/notes, or an array of paths"},
			{"covia:inspect", `{"paths":[]}`, "invalid input for v/ops/covia/inspect: paths has 0 entries: give 1 to 64"},
			{"covia:inspect", `{"paths":[["w","a"]]}`, "invalid input for v/ops/covia/inspect: paths must be a string or an array of strings, each one a path"},
			{"covia:inspect", `{"paths":"w/a","budget":5}`, "budget is 5: it must be from 10 to 100000"},
		}},
	}
	for _, opts := range []*workspace.Options{nil, {LeafLimit: 4}} {
		for _, tt := range tests {
			t.Run(fmt.Sprintf("%s/%v", tt.name, opts != nil), func(t *testing.T) {
				d := newDesk(t, opts)
				for _, s := range tt.steps {
					got := d.call(t, caps.Unrestricted(), s.name, s.input)
					if got != s.want && (s.want[0] == '{' || !strings.HasPrefix(got, s.want)) {
						t.Errorf("%s %s\n = %s\nwant %s", s.name, s.input, got, s.want)
					}
				}
			})
		}
	}
}

func TestCapabilities(t *testing.T) {
	set := caps.Of(
		caps.MustCapability("w/", "crud/read"), caps.MustCapability("w/decisions/", "crud"),
		caps.MustCapability("g/", "*"), caps.MustCapability("s/", "*"),
	)
	const denied = "Capability denied: "
	tests := []struct{ name, op, input, want string }{
		{"read", "covia:read", `{"path":"w/notes"}`, `{"exists":false}`},
		{"read own DID", "covia:read", `{"path":"OWNER/w/notes"}`, `{"exists":false}`},
		{"read elsewhere", "covia:read", `{"path":"o/x"}`, denied + "v/ops/covia/read requires crud/read on o/x."},
		{"write inside", "covia:write", `{"path":"w/decisions/1","value":1}`, `{"written":true}`},
		{"write outside", "covia:write", `{"path":"w/audits/INV-123","value":1}`, denied + "v/ops/covia/write requires crud/write on w/audits/INV-123."},
		{"delete outside", "covia:delete", `{"path":"w/x"}`, denied + "v/ops/covia/delete requires crud/delete on w/x."},
		{"append outside", "covia:append", `{"path":"w/x","value":1}`, denied + "v/ops/covia/append requires crud/write on w/x."},
		{"copy in", "covia:copy", `{"from":"w/decisions/1","to":"w/decisions/2"}`, `{"copied":true}`},
		{"copy out", "covia:copy", `{"from":"w/decisions/1","to":"w/x"}`, denied + "v/ops/covia/copy requires crud/write on w/x."},
		{"copy from where it may not read", "covia:copy", `{"from":"o/x","to":"w/decisions/3"}`, denied + "v/ops/covia/copy requires crud/read on o/x."},
		{"inspect all or nothing", "covia:inspect", `{"paths":["w/a","o/x"]}`, denied + "v/ops/covia/inspect requires crud/read on o/x."},
		{"list the root", "covia:list", `{}`, denied + "v/ops/covia/list requires crud/read on (any)."},
		{"agents are not written", "covia:write", `{"path":"g/Carol","value":1}`, denied + "v/ops/covia/write requires crud/write on g/Carol."},
		{"secrets are not read", "covia:read", `{"path":"s/KEY"}`, denied + "v/ops/covia/read requires crud/read on s/KEY."},
		{"secrets are not copied", "covia:copy", `{"from":"s/KEY","to":"w/decisions/k"}`, denied + "v/ops/covia/copy requires crud/read on s/KEY."},
	}
	d := newDesk(t, nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := d.call(t, set, tt.op, tt.input)
			if got != tt.want && (tt.want[0] == '{' || !strings.HasPrefix(got, tt.want)) {
				t.Errorf("%s %s\n = %s\nwant %s", tt.op, tt.input, got, tt.want)
			}
		})
	}
	if _, rev, err := d.tree.Get(t.Context(), d.owner.String(), at(t, "w/x")); rev != 0 || err != nil {
		t.Errorf("a denied write is there: %d, %v", rev, err)
	}
}

// TestNeverWritten: what DESIGN 4.8 keeps for other operations, with no capability missing.
func TestNeverWritten(t *testing.T) {
	d := newDesk(t, nil)
	tests := []struct{ path, want string }{
		{"g/Carol", "g/ is written by agent operations only, whatever the capabilities hold."},
		{"s/KEY", "s/ is written by secret operations only, whatever the capabilities hold."},
		{"j/1", "j/ is written by running operations only, whatever the capabilities hold."},
		{"a/abc", "a/ is written by asset operations only, whatever the capabilities hold."},
		{"v/ops", "v/ is the venue's own and is written by nobody else, whatever the capabilities hold."},
		{"h/1", "Only w/ and o/ can be written, whatever the capabilities hold."},
		{"file://x/y", "Only w/ and o/ can be written, whatever the capabilities hold."},
		{"w", "A write needs a key below w/, for example w/my-key."},
		{"o/", "A write needs a key below o/, for example o/my-key."},
		{"", "A write needs a key below w/ or o/, for example w/my-key."},
		{"OWNER/g/Carol", "g/ is written by agent operations only, whatever the capabilities hold."},
	}
	for _, tt := range tests {
		for op, input := range map[string]string{
			"covia:write":  fmt.Sprintf(`{"path":%q,"value":1}`, tt.path),
			"covia:append": fmt.Sprintf(`{"path":%q,"value":1}`, tt.path),
			"covia:delete": fmt.Sprintf(`{"path":%q}`, tt.path),
			"covia:copy":   fmt.Sprintf(`{"from":"w/x","to":%q}`, tt.path),
		} {
			got := d.call(t, caps.Unrestricted(), op, input)
			if !strings.HasPrefix(got, "Capability denied: ") || !strings.HasSuffix(got, tt.want) {
				t.Errorf("%s %s = %s\nwant a denial that ends in %s", op, tt.path, got, tt.want)
			}
		}
	}
	if got := d.call(t, caps.Unrestricted(), "covia:read", `{"path":"s/KEY"}`); !strings.Contains(got, "s/ can never be read") {
		t.Errorf("reading a secret = %s", got)
	}
}

func TestOffered(t *testing.T) {
	d := newDesk(t, nil)
	tests := []struct {
		with, can string
		want      []string
	}{
		{"w/decisions", "crud/read", []string{"covia:inspect", "covia:list", "covia:read", "covia:slice"}},
		{"w/decisions", "crud/write", []string{"covia:append", "covia:write"}},
		{"w", "crud/delete", []string{"covia:delete"}},
		{"", "crud/read", []string{"covia:inspect", "covia:list", "covia:read", "covia:slice"}},
		{"g/Carol", "crud", []string{"covia:inspect", "covia:list", "covia:read", "covia:slice"}},
		{"s", "*", nil},
		{"a", "*", []string{"covia:inspect", "covia:list", "covia:read", "covia:slice"}},
		{"w/x", "*", []string{"covia:append", "covia:copy", "covia:delete", "covia:inspect", "covia:list", "covia:read", "covia:slice", "covia:write"}},
	}
	for _, tt := range tests {
		set := caps.Of(caps.MustCapability(tt.with, tt.can))
		var got []string
		for _, op := range d.ops.All() {
			if op.CouldAllow(set) {
				got = append(got, op.Name())
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("offered with %s on %q (-want +got):\n%s", tt.can, tt.with, diff)
		}
	}
}
