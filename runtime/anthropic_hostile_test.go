package runtime_test

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"

	"usher/runtime/anthropic"
	"usher/runtime/endpoint"
)

// A server may repeat the key wherever it says anything, say too much, and
// count what cannot be.
func TestAServerThatSaysWhatItShouldNot(t *testing.T) {
	whole := func(o *anthropic.Options) { o.NoStream = true }
	message := func(model, content, stop, usage string) string {
		return `{"type":"message","role":"assistant","model":"` + model + `","content":[` + content + `],"stop_reason":"` + stop + `","usage":` + usage + `}`
	}
	const (
		text  = `{"type":"text","text":"hi"}`
		tool  = `{"type":"tool_use","id":"` + testKey + `","name":"n","input":{}}`
		named = `{"type":"tool_use","id":"a","name":"` + testKey + `","input":{}}`
		count = `{"input_tokens":1,"output_tokens":1}`
	)
	for name, body := range map[string]string{
		"stop reason":      message("m", text, testKey, count),
		"long stop reason": message("m", text, strings.Repeat("x", 1<<20), count),
		"model":            message(testKey, text, "end_turn", count),
		"call id":          message("m", tool, "tool_use", count),
		"call name":        message("m", named, "tool_use", count),
		"negative counts":  message("m", text, "end_turn", `{"input_tokens":-1000000,"output_tokens":-1,"cache_read_input_tokens":-3,"cache_creation_input_tokens":-4}`),
		"huge counts":      message("m", text, "end_turn", `{"input_tokens":9223372036854775000,"output_tokens":9223372036854775000,"cache_read_input_tokens":9223372036854775000}`),
	} {
		t.Run(name, func(t *testing.T) {
			m := serve(t, reply(200, nil, body)).model(t, whole)
			for c, err := range m.Generate(t.Context(), say("Hi")) {
				if err != nil {
					if strings.Contains(err.Error(), testKey) {
						t.Errorf("the error has the key: %v", err)
					}
					break
				}
				said := c.Finish + c.Model
				if c.Call != nil {
					said += c.Call.ID + c.Call.Name
				}
				if strings.Contains(said, testKey) || len(said) > endpoint.MaxMessage+10 {
					t.Errorf("a chunk of %d bytes says %.100s", len(said), said)
				}
				if u := c.Usage; u != nil && (min(u.Input, u.Output, u.CacheRead, u.CacheWrite) < 0 || u.Input+u.Output < 0) {
					t.Errorf("usage %+v", *u)
				}
			}
		})
	}
}

// What an answer may be made of is bounded, whole and in pieces.
func TestAnAnswerOfManyBlocksIsRefused(t *testing.T) {
	many := slices.Repeat([]string{`{}`}, 1<<20)
	whole := func(o *anthropic.Options) { o.NoStream = true }
	lines := []string{begin}
	for i := range 5000 {
		lines = append(lines,
			fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"text","text":""}}`, i),
			fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i))
	}
	for name, m := range map[string]*anthropic.Model{
		"whole":     serve(t, reply(200, nil, `{"type":"message","content":[`+strings.Join(many, ",")+`],"stop_reason":"end_turn"}`)).model(t, whole),
		"in pieces": serve(t, events(1<<16, append(lines, endTurn, end)...)).model(t),
	} {
		t.Run(name, func(t *testing.T) {
			var failed error
			for _, err := range m.Generate(t.Context(), say("Hi")) {
				failed = err
			}
			if !errors.Is(failed, endpoint.ErrFormat) {
				t.Errorf("%v, want an ErrFormat", failed)
			}
		})
	}
}

// A signature that comes in many pieces is put together once.
func TestASignatureInManyPieces(t *testing.T) {
	lines := []string{begin, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`}
	piece := `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"` + strings.Repeat("x", 512) + `"}}`
	lines = append(lines, slices.Repeat([]string{piece}, 4000)...)
	m := serve(t, events(1<<16, append(lines, stop0, endTurn, end)...)).model(t)
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	for _, err := range m.Generate(t.Context(), say("Hi")) {
		if err != nil {
			t.Fatal(err)
		}
	}
	goruntime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 256<<20 {
		t.Errorf("a signature of 2 MB takes %d MiB", took>>20)
	}
}
