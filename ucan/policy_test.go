package ucan

import (
	"strings"
	"testing"
)

func TestSelectors(t *testing.T) {
	args := map[string]any{
		"a": []any{int64(1), "two", []any{int64(3)}},
		"m": map[string]any{"x": "y", "z": int64(0)},
	}
	for _, c := range []struct {
		sel  string
		want any
		ok   bool
	}{
		{".", args, true},
		{".a", args["a"], true},
		{".a[0]", int64(1), true},
		{".a[-1][0]", int64(3), true},
		{".a[3]", nil, false},
		{".a[-4]", nil, false},
		{".a[]", args["a"], true},
		{".m[]", []any{"y", int64(0)}, true},
		{".m.x", "y", true},
		{`.m["x"]`, "y", true},
		{`.["m"].x`, "y", true},
		{".m.q", nil, true},
		{".m[0]", nil, false},
		{".a.x", nil, false},
		{".a[0][]", nil, false},
		{".a[0].b", nil, false},
	} {
		sel, err := parseSelector(c.sel)
		if err != nil {
			t.Errorf("parseSelector(%q): %v", c.sel, err)
			continue
		}
		if got, ok := sel.find(args); ok != c.ok || ok && !equal(got, c.want) {
			t.Errorf("%s = %v, %v; want %v, %v", c.sel, got, ok, c.want, c.ok)
		}
	}
	for _, bad := range []string{
		"", "a", "..", ".a?", ".?", ".a[1:2]", ".a[", ".a]", ".a[01]", ".a[+1]", ".a[x]", `.a[""]`, `.a["x:y"]`, `.a["\""]`,
		".a b", ".1", ".a[]?", ".é", strings.Repeat(".a", 17), ".a[99999999999999999999]",
	} {
		if sel, err := parseSelector(bad); err == nil {
			t.Errorf("the selector %q was read as %v", bad, sel)
		}
	}
}

func TestStatements(t *testing.T) {
	args := map[string]any{"n": int64(1), "f": 1.5, "s": "abc", "l": []any{int64(1), int64(2)}, "m": map[string]any{"x": []any{1.0}}}
	for _, c := range []struct {
		name string
		item []any
		want verdict
	}{
		{"equal", []any{"==", ".n", int64(1)}, isTrue},
		{"an integer is a float", []any{"==", ".n", 1.0}, isTrue},
		{"a text is no number", []any{"==", ".n", "1"}, isFalse},
		{"lists", []any{"==", ".l", []any{1.0, int64(2)}}, isTrue},
		{"shorter list", []any{"==", ".l", []any{int64(1)}}, isFalse},
		{"other list", []any{"==", ".l", []any{int64(1), int64(3)}}, isFalse},
		{"maps", []any{"==", ".m", map[string]any{"x": []any{int64(1)}}}, isTrue},
		{"other map", []any{"==", ".m", map[string]any{"y": []any{int64(1)}}}, isFalse},
		{"order of a text", []any{"<", ".s", int64(1)}, isFalse},
		{"less", []any{"<", ".n", 1.5}, isTrue},
		{"not less", []any{"<", ".n", int64(1)}, isFalse},
		{"at most", []any{"<=", ".n", int64(1)}, isTrue},
		{"greater", []any{">", ".f", int64(1)}, isTrue},
		{"at least", []any{">=", ".f", int64(2)}, isFalse},
		{"missing", []any{"==", ".q", int64(1)}, isFalse},
		{"missing is null", []any{"==", ".q", nil}, isTrue},
		{"not missing", []any{"not", []any{"==", ".q", int64(1)}}, isTrue},
		{"unequal missing", []any{"!=", ".q", int64(1)}, isTrue},
		{"below missing", []any{"not", []any{"==", ".q.r", int64(1)}}, noData},
		{"beyond a list", []any{"not", []any{"==", ".l[2]", int64(1)}}, noData},
		{"or, nowhere first", []any{"or", []any{[]any{"==", ".q.r", int64(1)}, []any{"==", ".n", int64(1)}}}, noData},
		{"or, missing later", []any{"or", []any{[]any{"==", ".n", int64(1)}, []any{"==", ".q", int64(1)}}}, isTrue},
		{"and, false first", []any{"and", []any{[]any{"==", ".n", int64(2)}, []any{"==", ".q", int64(1)}}}, isFalse},
		{"like of a number", []any{"like", ".n", "*"}, isFalse},
		{"any of a number", []any{"any", ".n", []any{"==", ".", int64(1)}}, isFalse},
		{"all values", []any{"all", ".m", []any{"==", ".[0]", int64(1)}}, isTrue},
		{"all items", []any{"all", ".l", []any{">", ".", int64(1)}}, isFalse},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := parseStatement(c.item, maxNesting)
			if err != nil {
				t.Fatal(err)
			}
			if got := s(args); got != c.want {
				t.Errorf("%v = %d; want %d", c.item, got, c.want)
			}
		})
	}
	for _, bad := range []any{
		nil, "==",
		[]any{},
		[]any{"=="},
		[]any{"==", ".a"},
		[]any{"not", ".a", int64(1)},
		[]any{"and", "x"},
		[]any{"and", []any{"x"}},
		[]any{"==", int64(1), int64(1)},
		[]any{"like", ".a", int64(1)},
		[]any{"like", ".a", `\x`},
		[]any{int64(1), ".a", int64(1)},
		[]any{"==", ".a", int64(1), int64(2)},
	} {
		if _, err := parseStatement(bad, maxNesting); err == nil {
			t.Errorf("%v was read", bad)
		}
	}
}
