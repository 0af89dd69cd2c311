package venue_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"usher/ucan"
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
	if _, _, err := room.Begin(t.Context(), &replies.Request{Owner: key.DID(), Bounded: true, Within: []byte("some"), Key: "more"}); err != nil {
		t.Errorf("the first of who comes with bounds: %v", err)
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
	if want := 2 * (replies.MaxKeys + 1); rows != want {
		t.Errorf("%d rows are stored, want %d", rows, want)
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
