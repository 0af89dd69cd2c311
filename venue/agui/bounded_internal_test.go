package agui

import (
	"runtime"
	"strconv"
	"strings"
	"testing"

	"usher/venue/face"
)

// However many entries a request packs into its bytes, reading it takes little memory, and
// lists that each entry is held against are short.
func TestManySmallEntriesTakeLittle(t *testing.T) {
	for name, list := range map[string]string{
		"messages": `"messages":[` + strings.Repeat(`{},`, 1<<18) + `{"role":"user","content":"hi"}]`,
		"context":  `"context":[` + strings.Repeat(`{},`, 1<<18) + `{}]`,
		"resume":   `"resume":[` + strings.Repeat(`{},`, 1<<18) + `{}]`,
		"tools":    `"tools":[` + strings.Repeat(`{},`, 1<<18) + `{}]`,
		"results":  `"messages":[` + strings.Repeat(`{"role":"tool"},`, 1<<15) + `{"role":"user","content":"hi"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			raw := []byte(`{"threadId":"t","runId":"r",` + list + `}`)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			in, err := readInput(raw)
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > 8*uint64(len(raw)) {
				t.Errorf("%d bytes take %d of memory", len(raw), took)
			}
			if refused := err != nil; refused != (name != "messages") {
				t.Errorf("readInput = %v", err)
			}
			if name != "messages" {
				return
			}
			if said, err := in.message(); said != "hi" || err != nil {
				t.Errorf("said = %q, %v", said, err)
			}
		})
	}
}

func TestLists(t *testing.T) {
	for name, tt := range map[string]struct {
		context string
		most    bool
	}{
		"none":        {`null`, true},
		"empty":       {`[]`, true},
		"as many":     {`[` + strings.Repeat(`{},`, face.MaxFew-1) + `{}]`, true},
		"one more":    {`[` + strings.Repeat(`{},`, face.MaxFew) + `{}]`, false},
		"no list":     {`{}`, false},
		"of no entry": {`[1]`, false},
	} {
		t.Run(name, func(t *testing.T) {
			in, err := readInput([]byte(`{"threadId":"t","runId":"r","context":` + tt.context + `}`))
			if (err == nil) != tt.most || err == nil && len(in.Context) != strings.Count(tt.context, "{") {
				t.Errorf("readInput = %v, %v", in, err)
			}
		})
	}
	for _, messages := range []string{`{}`, `1`, `[` + strconv.Quote("a") + `]`} {
		if _, err := readInput([]byte(`{"threadId":"t","runId":"r","messages":` + messages + `}`)); err == nil {
			t.Errorf("messages %s are read", messages)
		}
	}
}
