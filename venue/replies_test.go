package venue_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"usher/caps"
	"usher/tools/fault"
	"usher/ucan"
	"usher/venue"
	"usher/venue/replies"
	"usher/venue/store"
	"usher/venue/store/memory"
)

// A principal's keys are bounded, go after a day, and tell nobody on disk what was answered.
func TestKeysAreBounded(t *testing.T) {
	key, err := ucan.KeyFromSeed(append(make([]byte, 31), 5))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	st := memory.Open()
	room := replies.New(replies.Options{Store: st.Under("n/"), Key: []byte("a key of the venue"), Now: func() time.Time { return now }})
	begin := func(name string, body byte) (*replies.Ticket, *replies.Reply, error) {
		return room.Begin(t.Context(), &replies.Request{Owner: key.DID(), Within: []byte("all"), Key: name, Digest: [32]byte{body}})
	}
	keep := func(name string, reply *replies.Reply) {
		t.Helper()
		ticket, _, err := begin(name, 1)
		if err != nil {
			t.Fatal(name, err)
		}
		if _, _, err := begin(name, 1); !errors.Is(err, replies.ErrUnderWay) {
			t.Errorf("%s meanwhile: %v", name, err)
		}
		if err := ticket.Keep(t.Context(), reply); err != nil {
			t.Fatal(name, err)
		}
	}
	secret := bytes.Repeat([]byte("secret"), 20)
	for n := range replies.MaxKeys {
		keep(fmt.Sprint("k", n), &replies.Reply{Status: 200, Type: "text/plain", Body: secret})
	}
	if _, _, err := begin("more", 1); err == nil || errors.Is(err, replies.ErrUnderWay) {
		t.Errorf("one key more: %v", err)
	}
	if _, reply, err := begin("k7", 1); err != nil || reply.Status != 200 || !bytes.Equal(reply.Body, secret) {
		t.Errorf("again: %+v, %v", reply, err)
	}
	if _, _, err := begin("k7", 2); !errors.Is(err, replies.ErrOther) {
		t.Errorf("with another request: %v", err)
	}
	rows := 0
	for row, err := range store.Rows(t.Context(), st, "", "") {
		if err != nil {
			t.Fatal(err)
		}
		if rows++; bytes.Contains(row.Value, []byte("secret")) {
			t.Fatalf("%q tells what was answered", row.Key)
		}
	}
	if rows != 2*replies.MaxKeys {
		t.Errorf("%d rows are stored, want %d", rows, 2*replies.MaxKeys)
	}
	now = now.Add(replies.Life)
	keep("long", &replies.Reply{Status: 200, Body: make([]byte, replies.MaxBody+1)})
	if _, _, err := begin("long", 1); !errors.Is(err, replies.ErrTooLong) {
		t.Errorf("what was too long: %v", err)
	}
	for n := range 300 {
		ticket, _, err := begin(fmt.Sprint("k", n), 2)
		if err != nil || ticket.Again {
			t.Fatalf("a key after a day: %+v, %v", ticket, err)
		}
		if err := ticket.Drop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	rows = 0
	for _, err := range store.Keys(t.Context(), st, "", "") {
		if err != nil {
			t.Fatal(err)
		}
		rows++
	}
	if rows != 2 {
		t.Errorf("a day later %d rows are left, want those of one key", rows)
	}
	ticket, _, err := begin("cut", 1)
	if err != nil {
		t.Fatal(err)
	}
	first := ticket.Name()
	ticket.Leave()
	if ticket, _, err = begin("cut", 1); err != nil || !ticket.Again || ticket.Name() != first {
		t.Errorf("what was cut: %+v, %v", ticket, err)
	}
}

// Whoever comes as a principal within bounds leaves the principal room for keys of its own, and
// others who do some, too.
func TestKeysOfWhoIsBoundedLeaveRoom(t *testing.T) {
	v := open(t, nil)
	issuer := newIssuer(t)
	alice, err := v.Authenticate(t.Context(), identity(t, issuer, v.DID()))
	if err != nil {
		t.Fatal(err)
	}
	// uses sends requests with keys until none is taken, and returns how many were.
	uses := func(p *venue.Principal) int {
		t.Helper()
		for n := range replies.MaxKeys + 1 {
			ticket, _, err := p.Once(t.Context(), fmt.Sprint("k", n), [32]byte{})
			if fault.Of(err) == fault.LimitReached {
				return n
			}
			if err == nil {
				err = ticket.Keep(t.Context(), &replies.Reply{Status: 200})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return replies.MaxKeys + 1
	}
	within := func(path string) *venue.Principal {
		return alice.Narrow(caps.Of(caps.MustCapability(path, "crud/read")))
	}
	for n := range 4 {
		if got := uses(within(fmt.Sprint("w/", n))); got != replies.MaxKeys {
			t.Errorf("bounded caller %d uses %d keys, want %d", n, got, replies.MaxKeys)
		}
	}
	if got := uses(within("w/more")); got != 0 {
		t.Errorf("one bounded caller more uses %d keys, want none", got)
	}
	if got := uses(alice); got != replies.MaxKeys {
		t.Errorf("alice herself has %d keys left, want %d", got, replies.MaxKeys)
	}
}
