package ap

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"usher/runtime"
)

// TestDemoTellsWhatWasUsed: a cost of nothing, and one that nobody knows.
func TestDemoTellsWhatWasUsed(t *testing.T) {
	for _, tt := range []struct {
		name, settings string
		alice, dave    string // what the table says of their cost
		unpriced       int    // of Alice's calls
	}{
		{"a price", ", price: {input: 1000000, output: 0}", "", "0", 0},
		{"free", ", price: {input: 0, output: 0}", "0", "0", 0},
		{"none", "", "not known", "0", 1},
		{"none of the other model", ", price: {input: 0, output: 0}, fallback: instructions", "not known", "0", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := serve(t, theirs(t, mustConfig(t)))
			file := filepath.Join(t.TempDir(), "invoice.txt")
			if err := os.WriteFile(file, []byte(foreign), 0o600); err != nil {
				t.Fatal(err)
			}
			args := []string{"--model", "local", "-c", e.configuration(tt.settings), "--invoice", file}
			_, out, _ := command(t, args...)
			if tt.alice == "" {
				tt.alice = fmt.Sprint(e.seen[0].Usage.Input) // one unit a token
			}
			for _, want := range []string{"\n   Alice  1 ", "  " + tt.alice + "\n   Bob", "\n   Dave   0            0          0           " + tt.dave + "\n"} {
				if !strings.Contains(out, want) {
					t.Errorf("the demo does not print %q:\n%s", want, out)
				}
			}
			s, _, _ := commandJSON(t, args...)
			if got := s.Judgement.Usage[0]; got.Unpriced != tt.unpriced || got.Uncounted != 0 {
				t.Errorf("usage of Alice is %+v, want %d calls unpriced", got, tt.unpriced)
			}
		})
	}
}

func TestCost(t *testing.T) {
	for _, tt := range []struct {
		micros int64
		want   string
	}{{0, "0"}, {1, "0.000001"}, {50, "0.00005"}, {12_300, "0.0123"}, {1_500_000, "1.5000"}, {2_000_000, "2"}} {
		if got := cost(tt.micros); got != tt.want {
			t.Errorf("cost(%d) = %q, want %q", tt.micros, got, tt.want)
		}
	}
}

// TestUncounted: what a server does not count is not known, and not nothing.
func TestUncounted(t *testing.T) {
	m := &meter{plugged: &plugged{priced: true, notes: io.Discard}, model: says("Hm."), used: used{Agent: "Alice"}}
	for range m.Generate(t.Context(), &runtime.Request{}) {
		continue
	}
	raw, err := json.Marshal(m.used)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"agent":"Alice","modelCalls":1,"input":0,"output":0,"uncountedCalls":1,"unpricedCalls":1}`; string(raw) != want {
		t.Errorf("used is %s, want %s", raw, want)
	}
	if got := known("7", true, 1) + ", " + known("0", false, 1) + ", " + known("0", false, 0); got != "at least 7, not known, 0" {
		t.Errorf("sums are %s", got)
	}
}
