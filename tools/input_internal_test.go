package tools

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A name stands twice exactly when a decoder meets it twice at the top, whatever
// lies between.
func TestCheckObjectTwin(t *testing.T) {
	name := rapid.SampledFrom([]string{`"a"`, `"A"`, `"b"`, `"\u0061"`, `"c:"`, `"c,"`, `"{"`, `"\""`, `"\\"`})
	leaf := rapid.OneOf(name, rapid.SampledFrom([]string{`1`, `null`, `[]`, `{}`, ` "x" `, `":"`, `",\"a\":"`}))
	var object func(depth int) *rapid.Generator[string]
	object = func(depth int) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			var parts []string
			for range rapid.IntRange(0, 4).Draw(t, "fields") {
				v := leaf.Draw(t, "value")
				if depth > 0 && rapid.Bool().Draw(t, "nested") {
					v = object(depth-1).Draw(t, "object")
				}
				if rapid.Bool().Draw(t, "listed") {
					v = "[" + v + "," + v + "]"
				}
				parts = append(parts, name.Draw(t, "name")+" :"+v)
			}
			return "{" + strings.Join(parts, " ,") + "}"
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		raw := object(2).Draw(t, "raw")
		var seen []string
		twice := false
		dec := json.NewDecoder(strings.NewReader(raw))
		for _, err := dec.Token(); dec.More() && err == nil; {
			key, _ := dec.Token()
			for _, other := range seen {
				twice = twice || strings.EqualFold(other, key.(string))
			}
			seen = append(seen, key.(string))
			var v json.RawMessage
			if err := dec.Decode(&v); err != nil {
				t.Fatalf("%s: %v", raw, err)
			}
		}
		if err := CheckObject(json.RawMessage(raw)); (err != nil) != twice {
			t.Fatalf("CheckObject(%s) = %v, want an error: %t", raw, err, twice)
		}
	})
}

// Many long names cost a multiple of what reading them does, and not of their square.
func TestLongFieldsCost(t *testing.T) {
	var b strings.Builder
	for i := range maxFields {
		fmt.Fprintf(&b, `%c"%s%04d":1`, "{,"[min(i, 1)], strings.Repeat("a", 4000), i)
	}
	b.WriteString("}")
	raw := json.RawMessage(b.String())
	spent := func(f func()) time.Duration {
		least := time.Hour
		tries := 5
		if testing.Short() {
			tries = 2 // each takes a tenth of a second
		}
		for range tries {
			at := time.Now()
			f()
			least = min(least, time.Since(at))
		}
		return least
	}
	read := spent(func() { json.Valid(raw) })
	checked := spent(func() {
		if err := CheckObject(raw); err != nil {
			t.Fatal(err)
		}
	})
	if checked > 40*read {
		t.Errorf("checking %d bytes takes %s, reading them %s", len(raw), checked, read)
	}
}
