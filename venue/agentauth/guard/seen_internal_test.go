package guard

import (
	"errors"
	"strconv"
	"testing"
	"time"
)

// What is remembered is bounded, and forgotten once no venue vouches for it any more.
func TestSeenIsBounded(t *testing.T) {
	var s replayGuard
	now := time.Now()
	for i := range maxSeenOf {
		if err := s.use("a", strconv.Itoa(i), true, now); err != nil {
			t.Fatal(err)
		}
	}
	refused := new(refusal)
	if err := s.use("a", "more", true, now); !errors.As(err, &refused) || refused.Code != "rate_limited" {
		t.Errorf("one agent beyond its share: %v", err)
	}
	if err := s.use("b", "0", true, now); err != nil {
		t.Errorf("another agent: %v", err)
	}
	if err := s.use("a", "0", true, now.Add(seenLife)); !errors.As(err, &refused) || refused.Code != "jti_replay" {
		t.Errorf("while it could be good: %v", err)
	}
	if err := s.use("a", "0", true, now.Add(seenLife+1)); err != nil || len(s.at) != 1 || len(s.of) != 1 || len(s.order) != 1 {
		t.Errorf("afterwards: %v, with %d, %d and %d left", err, len(s.at), len(s.of), len(s.order))
	}
}
