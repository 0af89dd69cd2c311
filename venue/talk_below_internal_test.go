package venue

import (
	"testing"

	"usher/venue/runs"
)

// A turn whose runs nobody follows keeps few of them, and one that is followed those alone
// that are not told to their end.
func TestRunsThatWaitToBeFollowedAreBounded(t *testing.T) {
	f := family{signal: make(chan struct{}, 1)}
	r := new(runs.Run)
	for range maxNews + 10 {
		f.add(r, "", 0)
	}
	if n := len(f.take()); n != maxNews {
		t.Errorf("%d runs wait, want %d", n, maxNews)
	}
	a := &all{t: &Talk{below: family{signal: make(chan struct{}, 1)}}}
	over, goes := &child{done: make(chan struct{})}, &child{done: make(chan struct{})}
	close(over.done)
	a.open = []*child{over, goes, over}
	if list := a.follow(t.Context()); len(list) != 1 || list[0] != goes || len(a.open) != 1 {
		t.Errorf("%d runs are followed, want 1", len(list))
	}
}
