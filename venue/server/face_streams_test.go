package server_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"testing"

	"usher/tools/fault"
	"usher/ucan"
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
		d, err := s.Begin(newKey(t), true)
		if err != nil {
			t.Fatal(err)
		}
		done = append(done, d)
	}
	if _, err := s.Begin(newKey(t), true); fault.Of(err) != fault.TooManyRuns {
		t.Errorf("one guest more: %v", err)
	}
	if _, err := s.Begin(newKey(t), false); err != nil {
		t.Errorf("a user: %v", err)
	}
	for _, d := range done {
		d()
	}
	if n := s.Taken(); n != 1 {
		t.Errorf("%d streams are open, want 1", n)
	}
}
