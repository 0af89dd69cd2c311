package caps_test

import (
	"runtime"
	"strconv"
	"strings"
	"testing"

	"usher/caps/value"
)

// What a text decodes to is never much heavier than it is counted, whatever it is
// made of, and seldom much lighter.
func TestWeight(t *testing.T) {
	for name, part := range map[string]string{
		"empty arrays": `[]`, "empty objects": `{}`, "nested arrays": `[[[[]]]]`, "small objects": `{"":0}`, "numbers": `7`, "nulls": `null`,
		"texts": `"ab"`, "long texts": `"` + strings.Repeat("x", 1000) + `"`, "escapes": `"\"\\"`, "spaces": "   \n  1  ",
		"fields": `{"a":1,"b":"x","c":null,"d":[1,2,3],"e":{}}`, "many fields": manyFields(15), "more fields": manyFields(60),
	} {
		t.Run(name, func(t *testing.T) {
			text := []byte("[" + strings.Repeat(part+",", 1<<18/len(part)) + part + "]")
			before := heap()
			v, err := value.Decode(text, value.MaxDepth)
			took := heap() - before
			runtime.KeepAlive(v)
			if err != nil {
				t.Fatal(err)
			}
			if weight := value.Weight(text); took > weight*5/4 || weight > 4*took || weight > value.MaxRatio*int64(len(text)) {
				t.Errorf("Weight = %d KiB for a text of %d KiB, which takes %d KiB", weight>>10, len(text)>>10, took>>10)
			}
		})
	}
}

func manyFields(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`,"field-` + strconv.Itoa(i) + `":` + "1")
	}
	return "{" + b.String()[1:] + "}"
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
