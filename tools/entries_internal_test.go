package tools

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"usher/caps"
)

type crowd struct {
	Many  []struct{ A, B, C, D, E, F string } `json:"many"`
	Raw   json.RawMessage                     `json:"raw"`
	Other map[string]any                      `json:"other"`
	*shared
}

type shared struct{ Few *[]string }

func TestListsOfAnInputAreBounded(t *testing.T) {
	list := func(n int, entry string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(entry+",", n), ",") + "]"
	}
	for name, tc := range map[string]struct {
		input string
		long  string // the list that is too long
	}{
		"as many as may be":   {`{"many":` + list(maxEntries, "{}") + `}`, ""},
		"one more":            {`{"many":` + list(maxEntries+1, "{}") + `}`, "many"},
		"of another type":     {`{"many":` + list(maxEntries+1, "0") + `}`, "many"},
		"spelt otherwise":     {`{"MANY" : ` + list(maxEntries+1, "0") + `}`, "many"},
		"behind other fields": {`{"raw":{"a":[1,2]},"other":{"b":"{[,"},"few":` + list(maxEntries+1, `","`) + `}`, "few"},
		"of an embedded type": {`{"Few":` + list(maxEntries+1, `""`) + `}`, "few"},
		"in what is kept raw": {`{"raw":` + list(maxEntries+1, "0") + `,"many":[{}]}`, ""},
		"within an entry":     {`{"many":[{"x":` + list(maxEntries+1, "0") + `}]}`, ""},
		"in a map":            {`{"other":{"many":` + list(maxEntries+1, "0") + `}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := countEntries[crowd](json.RawMessage(tc.input))
			if tc.long == "" && err != nil || tc.long != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.long+" has more than 65536 entries")) {
				t.Errorf("countEntries = %v, want that of %q", err, tc.long)
			}
		})
	}
}

// A call that may be denied makes little of a large input before.
func TestALongListIsNotMade(t *testing.T) {
	op := New("test:crowd", "Take many.", func(crowd) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} },
		func(context.Context, Call, crowd) (int, error) { return 0, nil })
	input := json.RawMessage(`{"many":[` + strings.Repeat("0,", 2_000_000) + `0]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := op.Requirements(input)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; err == nil || took > 8<<20 {
		t.Errorf("Requirements of %d bytes = %v, after %d MiB", len(input), err, took>>20)
	}
}
