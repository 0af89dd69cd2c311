//go:build linux

package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"usher/venue/venuetest"
)

// table counts what came of a driver's points.
type table struct {
	t      *testing.T
	mu     sync.Mutex
	faults []string // in the order in which they came first
	counts map[string]map[string]int
	red    map[string]int // verdicts with a reason
}

// newTable prints the counts when the test ends.
func newTable(t *testing.T) *table {
	b := &table{t: t, counts: map[string]map[string]int{}, red: map[string]int{}}
	t.Cleanup(b.print)
	return b
}

// add counts a point of the name, and fails the test with what repeats it where it is not as it
// should be.
func (b *table) add(fault, point string, v verdict) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.counts[fault] == nil {
		b.faults = append(b.faults, fault)
		b.counts[fault] = map[string]int{}
	}
	b.counts[fault][v.is]++
	if v.why != "" {
		b.red[fault]++
		b.t.Errorf("%s: %s: %s\n\trepeat: %s", point, v.is, v.why, b.repeat(point))
	}
}

func (b *table) repeat(point string) string {
	return fmt.Sprintf("%s=%d %s=%q go test -tags faults -v -run '^%s$' ./venue/faults", seedName, seed(), onlyName, point, b.t.Name())
}

func (b *table) print() {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "fault\tpoints\tok\ttold\tlost\tsilent\tcrashed\tred\t\n")
	for _, fault := range b.faults {
		c, points := b.counts[fault], 0
		for _, n := range c {
			points += n
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", fault, points, c[ok], c[told], c[lost], c[silent], c[crashed], b.red[fault])
	}
	_ = w.Flush()
	b.t.Logf("seed %d\n%s", seed(), text.String())
}

// The names in the environment of how much a driver does.
const (
	seedName   = "USHER_FAULTS_SEED"
	pointsName = "USHER_FAULTS_POINTS"
	onlyName   = "USHER_FAULTS_ONLY"
	keepName   = "USHER_FAULTS_KEEP"
)

// seed is that of what is drawn.
func seed() uint64 {
	if n, err := strconv.ParseUint(os.Getenv(seedName), 10, 64); err == nil {
		return n
	}
	return 1
}

// drawn is a source of numbers of a driver's own, the same for the same seed.
func drawn(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed(), stream)) }

// points is how many points a driver has that are drawn.
func points(usual int) int {
	if n, err := strconv.Atoi(os.Getenv(pointsName)); err == nil {
		return n
	}
	return usual
}

// isWanted reports whether a point of the name is to be run.
func isWanted(point string) bool { return strings.Contains(point, os.Getenv(onlyName)) }

// mayBeWanted reports whether a point may be wanted whose name begins so.
func mayBeWanted(name string) bool {
	only := os.Getenv(onlyName)
	return only == "" || !strings.Contains(only, ", ") || strings.HasPrefix(only, name)
}

// keep puts the folder of a point that failed where the environment says, with what was claimed.
func (v verdict) keep(t *testing.T, point string, tr trial) verdict {
	t.Helper()
	dir := os.Getenv(keepName)
	if v.why == "" || dir == "" {
		return v
	}
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" /:=", r) {
			return '_'
		}
		return r
	}, point)
	to := filepath.Join(dir, t.Name()+"_"+name)
	if err := venuetest.CopyFolder(tr.project, to); err != nil {
		t.Log(err)
	}
	if err := venuetest.CopyFile(tr.claims, filepath.Join(to, "claims")); err != nil {
		t.Log(err)
	}
	return v
}

// sample is every nth of the list, so that at most so many are left.
func sample[T any](list []T, most int) []T {
	if len(list) <= most {
		return list
	}
	stride := (len(list) + most - 1) / most
	return slices.DeleteFunc(slices.Clone(list), func() func(T) bool {
		n := -1
		return func(T) bool { n++; return n%stride != 0 }
	}())
}
