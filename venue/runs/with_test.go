package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"usher/venue/runs"
)

// What goes with the first record of a run is stored with it or not at all, and what
// has moved keeps the run from beginning.
func TestARunBeginsWithWhatBelongsToIt(t *testing.T) {
	h := openHouse(t)
	ctx := t.Context()
	if _, err := h.store.Apply(ctx, nil, map[string][]byte{"x/there": []byte("1"), "x/old": []byte("1")}, nil); err != nil {
		t.Fatal(err)
	}
	_, rev, err := h.store.Get(ctx, "x/there")
	if err != nil {
		t.Fatal(err)
	}
	start := func(id string, with *runs.With) (worked bool, err error) {
		spec := runs.Spec{Kind: runs.Job, Op: "v/ops/test", ID: id, With: with, Fired: &runs.Firing{Schedule: "nightly", Due: 7}}
		r, err := h.Start(ctx, h.mint.User(h.alice), spec, func(context.Context, *runs.Run) (json.RawMessage, error) {
			worked = true
			return json.RawMessage(`{}`), nil
		})
		if err == nil {
			_, err = r.Wait(ctx)
		}
		return worked, err
	}
	stored := func(key string) bool {
		_, rev, err := h.store.Get(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		return rev != 0
	}
	put := map[string][]byte{"x/new": []byte("1")}
	for name, with := range map[string]*runs.With{
		"a revision that has moved": {Expect: map[string]uint64{"x/there": rev + 1}, Put: put},
		"a key that is there":       {Expect: map[string]uint64{"x/there": 0}, Put: put},
	} {
		if worked, err := start("first", with); worked || !errors.Is(err, runs.ErrMoved) {
			t.Errorf("%s: the run worked: %v, %v; want %v", name, worked, err, runs.ErrMoved)
		}
		if stored("x/new") {
			t.Errorf("%s: what belongs to the run was stored without it", name)
		}
	}
	if worked, err := start("first", &runs.With{Expect: map[string]uint64{"x/there": rev}, Put: put, Del: []string{"x/old"}}); !worked || err != nil {
		t.Errorf("the run worked: %v, %v", worked, err)
	}
	if !stored("x/new") || stored("x/old") {
		t.Error("what belongs to the run was not stored with it")
	}
	rec, err := h.Find(ctx, h.alice, "first")
	if err != nil || rec.Status != runs.Complete || rec.Fired == nil || rec.Fired.Schedule != "nightly" || rec.Fired.Due != 7 {
		t.Errorf("the record is %+v, %v", rec, err)
	}
	if worked, err := start("first", new(runs.With)); worked || !errors.Is(err, runs.ErrMoved) {
		t.Errorf("a second run of the id worked: %v, %v", worked, err)
	}
	if again, err := h.Find(ctx, h.alice, "first"); err != nil || again.Updated != rec.Updated {
		t.Errorf("the record of the first run was changed: %+v, %v", again, err)
	}
	live, release := make(chan struct{}), make(chan struct{})
	r, err := h.Start(ctx, h.mint.User(h.alice), runs.Spec{Kind: runs.Job, ID: "live"}, func(context.Context, *runs.Run) (json.RawMessage, error) {
		close(live)
		<-release
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	<-live
	if worked, err := start("live", new(runs.With)); worked || !errors.Is(err, runs.ErrMoved) {
		t.Errorf("beside a live run of its id another worked: %v, %v", worked, err)
	}
	if h.Live(h.alice, "live") != r {
		t.Error("a live run was put aside by another one of its id")
	}
	close(release)
	if _, err := r.Wait(ctx); err != nil {
		t.Error(err)
	}
}
