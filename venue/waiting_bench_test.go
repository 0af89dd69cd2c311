package venue_test

import (
	"context"
	"fmt"
	goruntime "runtime"
	"testing"

	"usher/runtime"
	"usher/tools/fault"
	"usher/venue"
	"usher/venue/config"
)

// waitingRuns is how many runs wait in the benchmarks.
const waitingRuns = 10_000

// waitIn fills a folder with runs that wait for a person, and returns their ids.
func waitIn(b *testing.B, dir string) (ids []string) {
	b.Helper()
	v, alice, bob := openWaiting(b, dir)
	for i := range waitingRuns {
		run, err := bob.Start(b.Context(), fmt.Sprint("s", i), "pay")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := run.Wait(b.Context()); fault.Of(err) != fault.Waiting {
			b.Fatalf("run %d ends with %v", i, err)
		}
		rec, err := alice.Run(b.Context(), run.ID())
		if err != nil {
			b.Fatal(err)
		}
		ids = append(ids, rec.Waits[0])
	}
	if err := v.Close(); err != nil {
		b.Fatal(err)
	}
	return ids
}

func openWaiting(b *testing.B, dir string) (*venue.Venue, *venue.User, *venue.Agent) {
	b.Helper()
	o := outside{b.TempDir()}
	v, err := venue.Open(b.Context(), &venue.Options{Dir: dir, Limits: config.Limits{Approvals: 4 * waitingRuns}, Models: map[string]runtime.Model{
		"default": o.model("bob", ask("covia_write", `{"path":"w/refunds/1","value":7}`)),
	}})
	if err != nil {
		b.Fatal(err)
	}
	alice, err := v.User(b.Context(), "alice")
	if err != nil {
		b.Fatal(err)
	}
	bob, err := alice.Agent(b.Context(), "bob")
	if err != nil {
		bob, err = alice.CreateAgent(b.Context(), spec("bob", "", asking))
	}
	if err != nil {
		b.Fatal(err)
	}
	return v, alice, bob
}

// inUse is the memory in use, in MiB, and how many goroutines there are.
func inUse() (float64, int) {
	goruntime.GC()
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return float64(m.HeapInuse+m.StackInuse) / (1 << 20), goruntime.NumGoroutine()
}

// BenchmarkOpenWaiting opens a folder in which 10,000 runs wait.
func BenchmarkOpenWaiting(b *testing.B) {
	idle := b.TempDir()
	v, _, _ := openWaiting(b, idle)
	before, few := inUse()
	if err := v.Close(); err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	waitIn(b, dir)
	for b.Loop() {
		v, _, _ := openWaiting(b, dir)
		b.StopTimer()
		after, many := inUse()
		b.ReportMetric(after-before, "MiB-above-idle")
		b.ReportMetric(float64(many-few), "goroutines-above-idle")
		if err := v.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkApprove approves one of 10,000 runs that wait, and waits for its end.
func BenchmarkApprove(b *testing.B) {
	dir := b.TempDir()
	ids := waitIn(b, dir)
	v, alice, _ := openWaiting(b, dir)
	defer v.Close()
	ctx := context.WithoutCancel(b.Context())
	for b.Loop() {
		if len(ids) == 0 {
			b.Fatal("all are approved")
		}
		if _, err := alice.Invoke(ctx, "approval:approve", map[string]string{"id": ids[0]}); err != nil {
			b.Fatal(err)
		}
		for _, r := range v.LiveRuns() {
			if _, err := r.Wait(ctx); err != nil {
				b.Fatal(err)
			}
		}
		ids = ids[1:]
	}
}

// BenchmarkOpenWithSchedules opens a folder with 10,000 schedules that fire tomorrow.
func BenchmarkOpenWithSchedules(b *testing.B) {
	opts := &venue.Options{Dir: b.TempDir(), Limits: config.Limits{Schedules: waitingRuns}}
	v, err := venue.Open(b.Context(), opts)
	if err != nil {
		b.Fatal(err)
	}
	alice, err := v.User(b.Context(), "alice")
	if err != nil {
		b.Fatal(err)
	}
	for i := range waitingRuns {
		in := map[string]any{"name": fmt.Sprint("s", i), "operation": "covia:read", "input": map[string]string{"path": "w/a"}, "after": "24h"}
		if _, err := alice.Invoke(b.Context(), "scheduler:schedule", in); err != nil {
			b.Fatal(err)
		}
	}
	if err := v.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		v, err := venue.Open(b.Context(), opts)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := v.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
