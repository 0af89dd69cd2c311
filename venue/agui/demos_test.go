package agui

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"usher/caps/value"
	"usher/runtime"
	"usher/tools/fault"
	"usher/venue"
)

var update = flag.Bool("update", false, "write the streams anew that are made of recorded logs")

// demo makes streams of a demonstration's log: one of each run that no other one began, with
// those that came of it.
type demo struct {
	views []*view
	of    map[string]*view // by the runs that are told in them
	out   map[*view]*bytes.Buffer
}

func (d *demo) take(e *runtime.Entry) {
	v := d.of[e.Run]
	if v == nil {
		if v = d.of[e.Parent]; v == nil {
			v = d.begin(e.Run)
		} else {
			v.begins(&venue.TalkEvent{Of: e.Run, Began: &venue.Began{Parent: e.Parent, Agent: e.Agent, Caps: json.RawMessage(`[]`)}})
		}
		d.of[e.Run] = v
	}
	t := v.teller
	if below := v.below[e.Run]; below != nil {
		t = below
	}
	t.take(e.Event)
	over, is := e.Event.(runtime.TurnEnd)
	if !is {
		return
	}
	var why error
	if over.Error != "" {
		why = fault.New(fault.Failed, over.Error)
	}
	switch {
	case t != v.teller:
		v.ends(t, why)
	case why != nil:
		v.breaksOff(why)
	}
}

func (d *demo) begin(run string) *view {
	out := new(bytes.Buffer)
	v := &view{emitter: begin(&input{ThreadID: "t", RunID: "r", ProtocolVersion: protocolVersion}, run, func(ev *event) error {
		raw, err := value.Encode(ev)
		out.WriteString("data: " + string(raw) + "\n\n")
		return err
	})}
	v.teller = &teller{lane: &v.lane, used: &v.used, calls: make(map[string]string), late: true}
	d.views, d.out[v] = append(d.views, v), out
	return v
}

// Of each demonstration clients take the streams: here by the rules that they have, and in
// testdata/npm by themselves.
func TestDemos(t *testing.T) {
	for _, name := range []string{"a2a", "agentauth", "ap", "delegation"} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", "demos", name)
			log, err := os.ReadFile(file + ".jsonl")
			if err != nil {
				t.Fatal(err)
			}
			d := &demo{of: make(map[string]*view), out: make(map[*view]*bytes.Buffer)}
			for line := range bytes.Lines(log) {
				var e runtime.Entry
				if err := json.Unmarshal(line, &e); err != nil {
					t.Fatal(err)
				}
				d.take(&e)
			}
			var all strings.Builder
			calls := 0
			for _, v := range d.views {
				last, _ := json.Marshal(v.teller.last) // a text
				v.finish(&outcome{result: v.teller.concludes(last)}, &v.used)
				raw := d.out[v].String()
				list, err := Streamed(raw)
				if err == nil {
					err = Verify(list)
				}
				if err != nil {
					t.Errorf("%v\n%s", err, raw)
				}
				calls += strings.Count(raw, `"type":"TOOL_CALL_RESULT"`)
				all.WriteString(raw)
			}
			if want := bytes.Count(log, []byte(`"type":"tool_finished"`)); calls != want || want == 0 {
				t.Errorf("%d calls are told of %d", calls, want)
			}
			file += ".stream"
			if *update {
				if err := os.WriteFile(file, []byte(all.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if all.String() != string(want) {
				t.Errorf("%s is another stream: look at what changed, and write it anew by -update", file)
			}
		})
	}
}
