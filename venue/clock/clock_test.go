package clock_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"usher/ucan"
	"usher/venue/clock"
	"usher/venue/ledger"
	"usher/venue/store"
	"usher/venue/store/memory"
)

// world is a store that outlives the clocks over it, and the time that they tell:
// that of the bubble, and by how much it is wrong.
type world struct {
	t     *testing.T
	store *store.Store
	wrong atomic.Int64
	log   bytes.Buffer
	clock *clock.Clock
	shut  func()
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, store: memory.Open()}
	if err := ledger.Create(t.Context(), w.store); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.wrong.Load())) }

func (w *world) set(wrong time.Duration) { w.wrong.Store(int64(wrong)) }

// open opens a clock. kill leaves it without Close.
func (w *world) open() (kill func()) {
	w.t.Helper()
	ctx, stop := context.WithCancel(w.t.Context())
	key, err := ucan.KeyFromSeed(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		w.t.Fatal(err)
	}
	c, err := clock.Open(ctx, clock.Options{Store: w.store.Under(""), Now: w.now, Logger: slog.New(slog.NewTextHandler(&w.log, nil))})
	if err != nil {
		w.t.Fatal(err)
	}
	l, err := ledger.Open(ctx, w.store, ledger.Options{Key: key, Now: c.Now})
	if err != nil {
		w.t.Fatal(err)
	}
	if _, sure := c.WasSure(); sure {
		w.t.Error("sure before it was started")
	}
	if err := c.Start(ctx, l); err != nil {
		w.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { c.Watch(ctx); close(done) }()
	end := func() {
		stop()
		<-done
		if err := l.Close(); err != nil {
			w.t.Error(err)
		}
	}
	w.clock, w.shut = c, func() {
		stop()
		<-done
		c.Close(context.WithoutCancel(ctx))
		end()
	}
	return end
}

// notes are the rows that tell of the clock: what, and by how much.
func (w *world) notes() (all []string) {
	w.t.Helper()
	r := ledger.NewReader(w.store, ucan.DID{})
	for row, err := range r.Rows(w.t.Context(), 0) {
		if err != nil {
			w.t.Fatal(err)
		}
		var detail struct{ By string }
		if err := json.Unmarshal(row.Detail, &detail); err != nil {
			w.t.Fatal(err)
		}
		all = append(all, row.Note+" "+detail.By)
	}
	if said := strings.Count(w.log.String(), "level=WARN"); said != len(all) {
		w.t.Errorf("%d rows, and the log says %d:\n%s", len(all), said, w.log.String())
	}
	return all
}

func (w *world) want(notes ...string) {
	w.t.Helper()
	if diff := cmp.Diff(notes, w.notes()); diff != "" {
		w.t.Errorf("rows of the clock (-want +got):\n%s", diff)
	}
}

func (w *world) wantSure(want bool) {
	w.t.Helper()
	if at, sure := w.clock.Sure(w.t.Context()); sure != want || at.UnixMilli() != w.now().UnixMilli() {
		w.t.Errorf("Sure = %v, %v; want %v, %v", at, sure, w.now(), want)
	}
	if at, sure := w.clock.WasSure(); sure != want || at.UnixMilli() != w.now().UnixMilli() {
		w.t.Errorf("WasSure = %v, %v; want %v, %v", at, sure, w.now(), want)
	}
}

const year = 365 * 24 * time.Hour

func TestWhileRunning(t *testing.T) {
	for _, tt := range []struct {
		name string
		to   time.Duration
		want []string
	}{
		{"as it should", 0, nil},
		{"set back within the slack", -500 * time.Millisecond, nil},
		{"set back by two seconds", -2 * time.Second, []string{"the clock stepped back 2s"}},
		{"set back by years", -10 * year, []string{"the clock stepped back 87600h0m0s"}},
		{"ahead by less than an hour", 59 * time.Minute, nil},
		{"ahead by more than an hour", 61 * time.Minute, []string{"the clock leapt forward 1h1m0s"}},
		{"ahead by years", 10 * year, []string{"the clock leapt forward 87600h0m0s"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.open()
				time.Sleep(10 * time.Minute)
				w.clock.Now()
				w.set(tt.to)
				w.clock.Now() // a call notices a step back at once
				synctest.Wait()
				if tt.to < -time.Second {
					w.want(tt.want...)
				}
				time.Sleep(10 * time.Minute)
				w.shut()
				w.want(tt.want...)
				w.open() // and it is not said again
				w.shut()
				w.want(tt.want...)
			})
		})
	}
}

func TestBetweenOpenings(t *testing.T) {
	const pause = 30 * time.Minute
	for _, tt := range []struct {
		name string
		to   time.Duration
		want []string
		sure bool
	}{
		{"as it should", 0, nil, true},
		{"behind what was seen", -2 * time.Hour, []string{"the clock stepped back 1h30m0s"}, true},
		{"behind by less than the pause", -20 * time.Minute, nil, true},
		{"a pause of hours", 20 * time.Hour, nil, true},
		{"a pause or a clock of two days", 48 * time.Hour, nil, false},
		{"ten years", 10 * year, nil, false},
	} {
		for how, end := range map[string]func(w *world, kill func()){
			"closed": func(w *world, _ func()) { w.shut() },
			"killed": func(_ *world, kill func()) { kill() },
		} {
			t.Run(tt.name+", "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					kill := w.open()
					for range 7 {
						time.Sleep(30 * time.Second)
						w.clock.Now()
						synctest.Wait()
					}
					end(w, kill)
					time.Sleep(pause)
					w.set(tt.to)
					w.open()
					w.wantSure(tt.sure)
					w.shut()
					want := tt.want
					if how == "killed" && len(want) == 1 { // what was seen last is older
						want = []string{"the clock stepped back 1h29m30s"}
					}
					w.want(want...)
				})
			})
		}
	}
}

// A clock that was ten years ahead at one opening, and at the next is right, is
// said once, and by neither of them may anything be removed at once.
func TestOneWrongOpening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.open()
		w.wantSure(true)
		w.shut()
		w.set(10 * year)
		w.open()
		w.wantSure(false)
		w.shut()
		time.Sleep(time.Hour)
		w.set(0)
		for range 2 {
			w.open()
			w.wantSure(false)
			w.shut()
		}
		w.want("the clock stepped back 87599h0m0s")
		w.open()
		time.Sleep(25 * time.Hour)
		w.wantSure(true)
		w.shut()
		w.want("the clock stepped back 87599h0m0s")
	})
}

// Nothing is written where nothing happens, and at most once a minute otherwise.
func TestWritesAreSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.open()
		rev := func() uint64 {
			_, rev, err := w.store.Get(t.Context(), "v/clock")
			if err != nil {
				t.Fatal(err)
			}
			return rev
		}
		for range 100 {
			w.clock.Now()
			time.Sleep(time.Second / 2)
		}
		if rev() != 0 {
			t.Error("it was written within the first minute")
		}
		writes, last := 0, rev()
		for range 600 {
			time.Sleep(time.Second)
			w.clock.Now()
			if r := rev(); r != last {
				writes, last = writes+1, r
			}
		}
		if writes < 9 || writes > 10 {
			t.Errorf("%d writes in ten minutes", writes)
		}
		time.Sleep(time.Hour) // in which nobody asks for the time
		if got := rev(); got > last+1 {
			t.Errorf("%d writes while nothing happened", got-last)
		}
		w.shut()
		w.want()
	})
}

func TestNowAllocatesNothing(t *testing.T) {
	w := newWorld(t)
	w.open()
	defer w.shut()
	if n := testing.AllocsPerRun(1000, func() { w.clock.Now() }); n != 0 {
		t.Errorf("Now allocates %v times", n)
	}
}
