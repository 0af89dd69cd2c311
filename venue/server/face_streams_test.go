package server_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"testing"
	"time"

	"usher/caps"
	"usher/tools/fault"
	"usher/ucan"
	"usher/venue"
	"usher/venue/face"
)

func newKey(t *testing.T) ucan.DID {
	t.Helper()
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	did, err := ucan.DIDOf(public)
	if err != nil {
		t.Fatal(err)
	}
	return did
}

// Guests, who can be as many as they like, leave room for the streams of others.
func TestGuestsShareStreams(t *testing.T) {
	var s face.Streams
	var done []func()
	for range 4 * face.MaxStreams {
		d, err := s.Begin(newKey(t).String(), true)
		if err != nil {
			t.Fatal(err)
		}
		done = append(done, d)
	}
	if _, err := s.Begin(newKey(t).String(), true); fault.Of(err) != fault.TooManyRuns {
		t.Errorf("one guest more: %v", err)
	}
	if _, err := s.Begin(newKey(t).String(), false); err != nil {
		t.Errorf("a user: %v", err)
	}
	for _, d := range done {
		d()
	}
	if n := s.Count(); n != 1 {
		t.Errorf("%d streams are open, want 1", n)
	}
}

// Who comes as a user within bounds leaves room for the user's own streams.
func TestWhoIsBoundedLeavesRoomForStreams(t *testing.T) {
	v, err := venue.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.Close() })
	user, err := v.User(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	token, err := v.Session(t.Context(), user, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	alice, err := v.Authenticate(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	within := func(path string) *venue.Principal { return alice.Narrow(caps.Of(caps.MustCapability(path, "crud"))) }
	var s face.Streams
	for i := range face.MaxStreams {
		if _, err := s.Begin(within("w/a").Place(), false); err != nil {
			t.Fatal(i, err)
		}
	}
	if _, err := s.Begin(within("w/b").Place(), false); fault.Of(err) != fault.TooManyRuns {
		t.Errorf("one more who is bounded: %v", err)
	}
	if _, err := s.Begin(alice.Place(), false); err != nil {
		t.Errorf("alice herself: %v", err)
	}
}
