package venue_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"usher/runtime"
	"usher/tools/mcp"
	"usher/venue"
)

// beside is an agent that uses no tool of an MCP server, in a venue with so many of them.
func beside(t testing.TB, tools int) *venue.Agent {
	t.Helper()
	conf := "user: alice\nagents: [{id: clerk, caps: [{with: w/notes/, can: crud}], tools: ['covia:write']}]\n"
	if tools > 0 {
		conf += fmt.Sprintf("mcp: [{id: files, url: %s}]\n", fileServer(t, tools))
	}
	v, err := venue.Open(t.Context(), &venue.Options{Models: map[string]runtime.Model{"default": clerk{}}, Config: parse(t, conf)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	alice := user(t, v, "alice")
	if tools > 0 {
		var known mcp.Inspection
		if err := json.Unmarshal([]byte(invoke(t, alice, "mcp:inspect", `{"server":"files"}`)), &known); err != nil || len(known.Tools) != tools {
			t.Fatalf("%d tools are there, want %d: %v %s", len(known.Tools), tools, err, known.Error)
		}
	}
	return agentOf(t, alice, "clerk")
}

// A turn that uses none of 500 imported tools does as much as where there are none.
func TestTurnBesideImported(t *testing.T) {
	made := map[int]float64{}
	for _, tools := range []int{0, 500} {
		clerk := beside(t, tools)
		made[tools] = testing.AllocsPerRun(50, func() { note(t, clerk, "") })
	}
	if made[500] > 1.1*made[0] {
		t.Errorf("a turn beside 500 imported tools makes %.0f allocations, and %.0f beside none", made[500], made[0])
	}
}

// BenchmarkTurnBesideImported holds turns beside 500 imported tools against turns beside
// none, by turns: ratio is 1 where they cost the same.
func BenchmarkTurnBesideImported(b *testing.B) {
	none, many := beside(b, 0), beside(b, 500)
	took := map[*venue.Agent]time.Duration{}
	for b.Loop() {
		for _, clerk := range []*venue.Agent{none, many} {
			began := time.Now()
			note(b, clerk, "")
			took[clerk] += time.Since(began)
		}
	}
	b.ReportMetric(float64(took[many])/float64(took[none]), "ratio")
}
