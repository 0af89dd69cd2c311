package cli

import (
	"bytes"
	"testing"

	"usher/runtime"
)

func TestBrief(t *testing.T) {
	for in, want := range map[string]string{
		`{"path":"w/notes/hello","value":"Good morning"}`: "w/notes/hello Good morning",
		`{"path":"w/x","offset":5,"deep":{"a": [1, 2]}}`:  `w/x offset=5 deep={"a":[1,2]}`,
		`{"path":""}`:        `path=""`,
		`{"path":null}`:      "path=null",
		`{}`:                 "",
		``:                   "",
		`[1]`:                "[1]",
		`{"path":"w/x`:       `{"path":"w/x`,
		`{"path":"w/x",`:     `{"path":"w/x",`,
		`not JSON`:           "not JSON",
		`{"a":"1"}{"b":"2"}`: "1",
	} {
		if got := brief(in); got != want {
			t.Errorf("brief(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestSpent(t *testing.T) {
	for _, c := range []struct {
		calls int
		usage runtime.Usage
		want  string
	}{
		{1, runtime.Usage{}, "1 model call"},
		{3, runtime.Usage{Input: 1204, Output: 88, CacheRead: 900, Cost: 3100}, "3 model calls · 1,204 in (900 cached) · 88 out · 0.0031"},
		{12, runtime.Usage{Input: 1234567, Output: 999}, "12 model calls · 1,234,567 in · 999 out"},
		{2, runtime.Usage{Output: 1, Cost: 1}, "2 model calls · 0 in · 1 out · 0.000001"},
		{2, runtime.Usage{Output: 1, Cost: 12_500_000}, "2 model calls · 0 in · 1 out · 12.50"},
		{2, runtime.Usage{Output: 1, Cost: 3_000_000}, "2 model calls · 0 in · 1 out · 3.00"},
	} {
		if got := spent(c.calls, c.usage); got != c.want {
			t.Errorf("spent(%d, %+v) = %q, want %q", c.calls, c.usage, got, c.want)
		}
	}
}

// A call that failed for its arguments shows them as they are.
func TestAWrongCallIsShownAsItIs(t *testing.T) {
	for result, want := range map[string]string{
		`{"error":"invalid_input","message":"no pth"}`: "! covia:read {\"pth\":\"w/x\"}\n  no pth\n",
		`{"error":"not_found","message":"nothing"}`:    "! covia:read w/x\n  nothing\n",
	} {
		var out bytes.Buffer
		(&streams{err: &out}).tool(runtime.ToolFinished{Name: "covia:read", Outcome: runtime.ToolFailed, Result: result}, `{"pth":"w/x"}`)
		if out.String() != want {
			t.Errorf("%s is shown as %q, want %q", result, out.String(), want)
		}
	}
}
