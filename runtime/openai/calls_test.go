package openai

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"usher/runtime"
	"usher/runtime/endpoint"
)

// A way in which servers number and name the pieces of calls.
type manner struct {
	index      func(n int) *int
	id, name   bool // with every piece
	freshIDs   bool
	noIDs      bool
	interleave bool
}

var manners = map[string]manner{
	"by the format":           {index: counted, interleave: true},
	"id and name repeated":    {index: counted, id: true, name: true, interleave: true},
	"all number 0":            {index: zero},
	"all number 0, id kept":   {index: zero, id: true, interleave: true},
	"no index":                {index: none},
	"no index, id kept":       {index: none, id: true, interleave: true},
	"fresh ids":               {index: counted, freshIDs: true, interleave: true},
	"number 0 and fresh ids":  {index: zero, freshIDs: true},
	"no ids":                  {index: counted, noIDs: true, interleave: true},
	"no ids, name repeated":   {index: counted, noIDs: true, name: true, interleave: true},
	"no ids, all number 0":    {index: zero, noIDs: true},
	"no ids and no index":     {index: none, noIDs: true},
	"no ids, 0, name repeats": {index: zero, noIDs: true, name: true},
}

func counted(n int) *int { return &n }
func zero(int) *int      { return new(int) }
func none(int) *int      { return nil }

// Whatever a server's manner, and wherever it splits, the calls come out as
// they were.
func TestCallsInEveryManner(t *testing.T) {
	for name, how := range manners {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				want := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) runtime.ToolCall {
					raw, err := json.Marshal(map[string]string{"k": rapid.String().Draw(t, "value")})
					if err != nil {
						t.Fatal(err)
					}
					return runtime.ToolCall{Name: rapid.SampledFrom([]string{"f", "g"}).Draw(t, "name"), Arguments: string(raw)}
				}), 1, 4).Draw(t, "calls")
				pieces := make([][]call, len(want))
				for n := range want {
					if !how.noIDs {
						want[n].ID = fmt.Sprintf("call_%d", n)
					}
					pieces[n] = split(t, how, n, want[n])
				}
				var c calls
				got := make([]runtime.ToolCall, len(want))
				for _, d := range order(t, how, pieces) {
					for _, out := range c.add(&d) {
						if out.Index >= len(got) {
							t.Fatalf("there are %d calls, this is number %d", len(want), out.Index)
						}
						got[out.Index].ID += out.ID
						got[out.Index].Name += out.Name
						got[out.Index].Arguments += out.Arguments
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("calls (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func split(t *rapid.T, how manner, n int, whole runtime.ToolCall) []call {
	out := []call{{Index: how.index(n), ID: word(whole.ID), Function: function{Name: whole.Name}}}
	for rest := whole.Arguments; rest != ""; {
		size := rapid.IntRange(1, len(rest)).Draw(t, "size")
		d := call{Index: how.index(n), Function: function{Arguments: arguments(rest[:size])}}
		if how.id {
			d.ID = word(whole.ID)
		}
		if how.freshIDs {
			d.ID = word(fmt.Sprintf("%s.%d", whole.ID, len(rest)))
		}
		if how.name {
			d.Function.Name = whole.Name
		}
		out, rest = append(out, d), rest[size:]
	}
	return out
}

// order keeps the order of the calls' beginnings and of each call's pieces.
func order(t *rapid.T, how manner, pieces [][]call) (out []call) {
	if !how.interleave {
		for _, p := range pieces {
			out = append(out, p...)
		}
		return out
	}
	begun := 0
	for {
		var open []int
		for n := range min(begun+1, len(pieces)) {
			if len(pieces[n]) > 0 {
				open = append(open, n)
			}
		}
		if open == nil {
			return out
		}
		n := rapid.SampledFrom(open).Draw(t, "next")
		out, pieces[n] = append(out, pieces[n][0]), pieces[n][1:]
		begun = max(begun, n+1)
	}
}

// However it is cut, text is known as an object exactly when it is one; white
// space may follow it.
func TestObjectIsComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"{", "}", "[", "]", `"`, `\`, `\"`, ":", ",", `"a":1`, `{"b":"}"}`, "1", " ", "\n", "x"})
		var o object
		for _, s := range rapid.SliceOfN(part, 0, 12).Draw(t, "parts") {
			o.text = append(o.text, s...)
			text := strings.TrimRight(string(o.text), " \n")
			want := strings.HasSuffix(text, "}") && json.Valid([]byte(text))
			if got := o.complete(); got != want {
				t.Fatalf("complete(%q) = %t, want %t", o.text, got, want)
			}
		}
	})
}

// What was looked at is not looked at again: with a piece a byte, the work would
// be the square of the length.
func TestObjectIsReadOnce(t *testing.T) {
	for _, tt := range []struct {
		name, seen, then string // of the same length
		want             bool
	}{
		{"while it is open", `{"a":"}`, `{"a":1}`, false},
		{"when it is closed", `{"a":1}`, `{"a":"}`, true},
		{"when something follows it", `{"a":1}}`, `{"a":11}`, false},
	} {
		o := object{text: []byte(tt.seen)}
		if got := o.complete(); got != tt.want {
			t.Errorf("%s: complete(%s) = %t, want %t", tt.name, tt.seen, got, tt.want)
		}
		copy(o.text, tt.then)
		if got := o.complete(); got != tt.want {
			t.Errorf("%s: complete reads %s again", tt.name, tt.seen)
		}
	}
}

// Whatever a server sends, reading it does not panic, ends, and yields
// characters; a call is complete or there is an error.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(event + done))
	f.Add([]byte(`{"choices":[{"message":{"content":"a","tool_calls":[{"function":{"name":"f","arguments":{}}}]},"finish_reason":"stop"}]}`))
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}]},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		m, err := New(Options{Options: endpoint.Options{Model: "m", Transport: canned(sent)}})
		if err != nil {
			t.Fatal(err)
		}
		finish, calls := "", map[int]string{}
		var failed error
		for c, err := range m.Generate(t.Context(), hello) {
			failed = err
			for _, s := range []string{c.Text, c.Reasoning} {
				if strings.ToValidUTF8(s, "") != s {
					t.Errorf("yielded %q", s)
				}
			}
			if d := c.Call; d != nil {
				calls[d.Index] += d.Arguments
			}
			if c.Finish != "" {
				finish = c.Finish
			}
		}
		if failed != nil || finish == "stop" || finish == "tool_calls" || finish == "function_call" {
			return
		}
		for n, arguments := range calls {
			if !json.Valid([]byte(arguments)) {
				t.Errorf("call %d is passed on with %q after finish %q", n, arguments, finish)
			}
		}
	})
}

// A name in pieces ends where no tool's name is as long.
func TestANameInPiecesIsBounded(t *testing.T) {
	var c calls
	name := func(text string) *call {
		d := &call{ID: "a"}
		d.Function.Name = text
		return d
	}
	for i := range 1000 {
		c.add(name([]string{"x", "y"}[i%2] + strings.Repeat("z", 150)))
	}
	if out := c.beginnings(); len(out) != 1 || len(out[0].Name) > maxName+151 {
		t.Errorf("%d calls, the first with a name of %d bytes", len(out), len(out[0].Name))
	}
}
