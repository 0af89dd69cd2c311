package mcp

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/caps"
)

func TestTemplates(t *testing.T) {
	for _, c := range []struct {
		name, with, input string
		want              []string // requirements
		wrong             string   // a part of the error
	}{
		{"a path", "file://docs/{path}", `{"path":"a/b"}`, []string{"crud/read on file://docs/a/b"}, ""},
		{"two segments", "repo/{owner}/{name}", `{"owner":"acme","name":"site"}`, []string{"crud/read on repo/acme/site"}, ""},
		{"a list", "file://docs/{paths}", `{"paths":["a","b/c"]}`, []string{"crud/read on file://docs/a", "crud/read on file://docs/b/c"}, ""},
		{"a list of objects", "file://docs/{files.path}", `{"files":[{"path":"a"},{"path":"b"}]}`, []string{"crud/read on file://docs/a", "crud/read on file://docs/b"}, ""},
		{"within an object", "w/{edit.at...}", `{"edit":{"at":"a/b"}}`, []string{"crud/read on w/a/b"}, ""},
		{"no field", "file://docs", `{"path":"secret"}`, []string{"crud/read on file://docs"}, ""},
		{"every way to choose", "x/{a}/{b}", `{"a":["1","2"],"b":["3","4"]}`, []string{"crud/read on x/1/3", "crud/read on x/1/4", "crud/read on x/2/3", "crud/read on x/2/4"}, ""},
		{"a slash in one segment", "repo/{owner}/{name}", `{"owner":"acme","name":"site/../other"}`, nil, "name is"},
		{"a slash in another", "repo/{owner}/{name}", `{"owner":"acme/site","name":"x"}`, nil, "owner is"},
		{"up", "file://docs/{path}", `{"path":"../etc"}`, nil, `a ".." segment`},
		{"absolute without a root", "file://docs/{path}", `{"path":"/etc/passwd"}`, nil, "nobody has said which folder the server works in"},
		{"not normal", "file://docs/{path}", `{"path":"e\u0301"}`, nil, "NFC"},
		{"a backslash", "file://docs/{path}", `{"path":"a\\..\\b"}`, nil, "resource"},
		{"escaped", "file://docs/{path}", `{"path":"a%2fb"}`, nil, "resource"},
		{"missing", "file://docs/{path}", `{}`, nil, "path is missing"},
		{"no text", "file://docs/{path}", `{"path":1}`, nil, "give a text"},
		{"null", "file://docs/{path}", `{"path":null}`, nil, "give a text"},
		{"an object", "file://docs/{path}", `{"path":{}}`, nil, "give a text"},
		{"an empty list", "file://docs/{paths}", `{"paths":[]}`, nil, "empty"},
		{"one of a list is none", "file://docs/{paths}", `{"paths":["a",1]}`, nil, "give a text"},
		{"a list in a list", "file://docs/{paths}", `{"paths":[["a"]]}`, nil, "give a text"},
		{"a key in another case", "file://docs/{path}", `{"path":"a","Path":"b"}`, nil, "could be read as"},
		{"and within", "x/{a.b}", `{"a":{"b":"1","B":"2"}}`, nil, "could be read as"},
		{"twice", "file://docs/{path}", `{"path":"a","path":"b"}`, nil, "stands twice"},
		{"too many", "x/{a}/{b}", `{"a":[` + texts(40) + `],"b":[` + texts(40) + `]}`, nil, "more than 1024"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &Server{ID: "s", Tools: []Line{{Match: "*", Can: "crud/read", With: templates{c.with}}}}
			if err := s.Tools[0].Check(); err != nil {
				t.Fatal(err)
			}
			p, err := s.newPlan("t", nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			needs, arguments := p.prepare(json.RawMessage(c.input))
			var got []string
			for _, n := range needs {
				if err := n.Err(); err != nil {
					if c.wrong == "" || !strings.Contains(err.Error(), c.wrong) {
						t.Fatalf("requirement is an error %q, want %q in it", err, c.wrong)
					}
					return
				}
				got = append(got, n.String())
				if !caps.Of(caps.MustCapability(n.Resource().String(), "crud/read")).CouldAllow(p.scopes()[0][0]) {
					t.Errorf("no scope has %s", n)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("requirements (-want +got):\n%s", diff)
			}
			if string(arguments) != c.input {
				t.Errorf("arguments are %s, want them as they came", arguments)
			}
		})
	}
}

func texts(n int) string {
	return strings.TrimSuffix(strings.Repeat(`"x",`, n), ",")
}

func TestTemplateRefuses(t *testing.T) {
	for _, text := range []string{
		"", "{path}", "/{path}", "w/{path", "w/path}", "w/{}", "w/{a b}", "w/{a...}/b", "w/x{a}", "w/{a}x", "w/{a}{b}", "w/../{a}", "W:/{a}", "file://docs//{path}", "w/{a.}",
	} {
		if _, err := parseTemplate(text); err == nil {
			t.Errorf("parseTemplate(%q) takes it, want an error", text)
		}
	}
}

// With a root what is sent is a path below that, whatever stands before it in the template: so
// no field does. And none is the path of a file that is not resolved.
func TestTemplateOfRoot(t *testing.T) {
	for _, c := range []struct {
		with string
		ok   bool
	}{
		{"file://docs/{path}", true},
		{"file://docs/all/{edit.path}", true},
		{"file://docs", true},
		{"repo/{owner}/{name}", true},
		{"file://docs/{dir}/{path}", false},
		{"file://docs/{dir}/{path...}", false},
		{"file://docs/{project}/settings", false},
	} {
		for at, line := range map[string]Line{
			"with": {Match: "*", Can: "crud/read", With: templates{c.with}},
			"also": {Match: "*", Can: "invoke", Also: []requirement{{Can: "crud/read", With: templates{"file://docs/{path}", c.with}}}},
		} {
			s := &Server{ID: "s", Command: []string{"x"}, Tools: []Line{line}}
			if err := s.Check(); err != nil {
				t.Errorf("%s %s without a root: %v", at, c.with, err)
			}
			s.Root = "/srv/docs"
			if err := s.Check(); (err == nil) != c.ok {
				t.Errorf("%s %s with a root: %v", at, c.with, err)
			}
		}
	}
}

// Where a path leads is what counts and what is sent, by every spelling and link.
func TestFolder(t *testing.T) {
	top := t.TempDir()
	root := filepath.Join(top, "docs")
	for _, dir := range []string{"docs/public/deep", "docs/secret", "other"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"docs/public/out": filepath.Join(top, "other"), "docs/public/up": "../..", "docs/public/in": "../secret", "docs/public/abs": filepath.Join(root, "secret"),
		"docs/public/dangling": "../secret/new", "docs/public/loop": "loop", "docs/public/astray": "nowhere/../../x", "docs/secret/back": "../public", "alias": "docs",
	} {
		if err := os.Symlink(to, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "public/file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := openFolder(filepath.Join(top, "alias"))
	if err != nil {
		t.Fatal(err)
	}
	const never = "!"
	for _, c := range []struct {
		path  string
		wants string // what is required after what was asked for; never is that nobody may
		sent  string // below the root; "!" is an error
	}{
		{"public/a", "", "public/a"},
		{"public//a/./b/", "", "public/a/b"},
		{"/public/a", "", "!"}, // absolute, and elsewhere
		{filepath.Join(root, "public/a"), "", "public/a"},
		{filepath.Join(top, "alias/public/a"), "", "public/a"},
		{root, "", ""},
		{".", "", ""},
		{"public/../secret/x", "", "secret/x"},
		{"..", "", "!"},
		{"../docs-other", "", "!"},
		{root + "-other/x", "", "!"},
		{"public/in/x", "secret/x", "secret/x"},
		{"public/abs/x", "secret/x", "secret/x"},
		{"public/dangling", "secret/new", "secret/new"},
		{"public/in/back/in/x", "secret/x", "secret/x"},
		{"public/out/x", never, "public/out/x"},
		{"public/up/x", never, "public/up/x"},
		{"public/loop", never, "public/loop"},
		{"public/astray", never, "public/astray"},
		{"public/file/x", never, "public/file/x"},
		{"~/x", "", "~/x"},
		{"", "", "!"},
		{"a\x00b", "", "!"},
		{strings.Repeat("a/", 3000), "", "!"},
	} {
		at, err := f.find(c.path)
		if c.sent == "!" {
			if err == nil {
				t.Errorf("find(%.60q) = %v, want an error", c.path, at)
			}
			continue
		}
		if err != nil {
			t.Errorf("find(%q): %v", c.path, err)
			continue
		}
		if want := filepath.Join(f.real, c.sent); at.path != want {
			t.Errorf("find(%q) sends %s, want %s", c.path, at.path, want)
		}
		pieces, wants := at.pieces(), ""
		if len(pieces) > 1 {
			if wants = pieces[1].text; pieces[1].why != "" {
				wants = never
			}
		}
		if wants != c.wants {
			t.Errorf("find(%q) requires %q beside what was asked for, want %q", c.path, wants, c.wants)
		}
	}
}

// Where case does not count, a path is the one that the disk has: no other spelling of it is
// another resource.
func TestFolderWithoutCase(t *testing.T) {
	top := t.TempDir()
	for _, name := range []string{"Secret", "open"} {
		if err := os.Mkdir(filepath.Join(top, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, name, "a"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../Secret/a", filepath.Join(top, "open", "Link")); err != nil {
		t.Fatal(err)
	}
	f, err := openFolder(top)
	if err != nil {
		t.Fatal(err)
	}
	f.lstat = func(path string) (fs.FileInfo, error) { // of a system where case does not count
		found := string(filepath.Separator)
		for _, s := range segments(path) {
			entries, err := os.ReadDir(found)
			if err != nil {
				return nil, err
			}
			for _, e := range entries {
				if strings.EqualFold(e.Name(), s) {
					s = e.Name()
					break
				}
			}
			found = filepath.Join(found, s)
		}
		return os.Lstat(found)
	}
	for path, want := range map[string]string{
		"secret/a": "Secret/a", "SECRET/A": "Secret/a", "sEcret": "Secret", "Secret/a": "Secret/a", "OPEN/link": "Secret/a", "secret/New": "Secret/New",
	} {
		at, err := f.find(path)
		if err != nil || at.why != "" || at.found != want || at.path != filepath.Join(f.real, want) {
			t.Errorf("%s leads to %+v, %v, want %s", path, at, err, want)
		}
	}
}

// Two names of one file that differ by case alone are two, where case counts.
func TestFolderWithNamesThatDifferByCase(t *testing.T) {
	top := t.TempDir()
	if err := os.WriteFile(filepath.Join(top, "a"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a": "a", "A": "A"}
	if err := os.Link(filepath.Join(top, "a"), filepath.Join(top, "A")); errors.Is(err, fs.ErrExist) { // case does not count here
		want["A"] = "a"
	} else if err != nil {
		t.Fatal(err)
	}
	f, err := openFolder(top)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range want {
		if at, err := f.find(path); err != nil || at.why != "" || at.found != want {
			t.Errorf("%s leads to %+v, %v, want %s", path, at, err, want)
		}
	}
}
