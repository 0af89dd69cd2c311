package mcp

import (
	"crypto/ed25519"
	"crypto/rand"
	"testing"

	"usher/tools/fault"
	"usher/ucan"
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

// Guests, who can be as many as they like, leave room for sessions of others.
func TestGuestsShareSessions(t *testing.T) {
	s := new(sessions)
	var begin func(i int)
	begin = func(i int) {
		err := s.begin(newKey(t).String(), true, func(*slot) { begin(i + 1) })
		switch {
		case i < maxGuests && err != nil:
			t.Errorf("guest %d: %v", i, err)
		case i == maxGuests && fault.Of(err) != fault.TooManyRuns:
			t.Errorf("one guest more: %v", err)
		case i == maxGuests:
			if err := s.begin(newKey(t).String(), false, func(*slot) {}); err != nil {
				t.Errorf("a user: %v", err)
			}
		}
	}
	for range 2 { // the second finds that all have left
		begin(0)
		if n := s.places.Count(); n != 0 {
			t.Errorf("%d sessions are left", n)
		}
	}
}

// The same holds for those who listen.
func TestGuestsShareEars(t *testing.T) {
	var l listeners
	for range maxGuestEars {
		if _, err := l.add(ucan.DID{}, newKey(t).String(), true); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.add(ucan.DID{}, newKey(t).String(), true); fault.Of(err) != fault.TooManyRuns {
		t.Errorf("one guest more: %v", err)
	}
	one, err := l.add(ucan.DID{}, newKey(t).String(), false)
	if err != nil {
		t.Fatalf("a user: %v", err)
	}
	l.drop(one)
}
