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
		calls  int
		usage  runtime.Usage
		caused *runtime.Spending
		want   string
	}{
		{1, runtime.Usage{}, nil, "1 model call"},
		{1, runtime.Usage{}, &runtime.Spending{Calls: 2}, "1 model call; with the agents that it asked: 2 model calls"},
		{
			2,
			runtime.Usage{Input: 5, Output: 1, Cost: 10_000},
			&runtime.Spending{Calls: 9, Usage: runtime.Usage{Input: 15_000, Output: 40, Cost: 3_100_000}},
			"2 model calls · 5 in · 1 out · 0.01; with the agents that it asked: 9 model calls · 15,000 in · 40 out · 3.10",
		},
		{3, runtime.Usage{Input: 1204, Output: 88, CacheRead: 900, Cost: 3100}, nil, "3 model calls · 1,204 in (900 cached) · 88 out · 0.0031"},
		{12, runtime.Usage{Input: 1234567, Output: 999}, nil, "12 model calls · 1,234,567 in · 999 out"},
		{2, runtime.Usage{Output: 1, Cost: 1}, nil, "2 model calls · 0 in · 1 out · 0.000001"},
		{2, runtime.Usage{Output: 1, Cost: 12_500_000}, nil, "2 model calls · 0 in · 1 out · 12.50"},
		{2, runtime.Usage{Output: 1, Cost: 3_000_000}, nil, "2 model calls · 0 in · 1 out · 3.00"},
	} {
		ev := runtime.TurnEnd{Calls: c.calls, Usage: c.usage, Caused: c.caused}
		if got := usageLine(&ev); got != c.want {
			t.Errorf("spent(%+v) = %q, want %q", ev, got, c.want)
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
		(&streams{err: &out}).tool(runtime.ToolEnd{Name: "covia:read", Outcome: runtime.ToolFailed, Result: result}, `{"pth":"w/x"}`)
		if out.String() != want {
			t.Errorf("%s is shown as %q, want %q", result, out.String(), want)
		}
	}
}
