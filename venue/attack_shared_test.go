package venue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
	"usher/tools/fault"
	"usher/ucan"
	"usher/venue"
)

// bankError keeps to itself what it was asked, but for its details.
type bankError struct{ request string }

func (e *bankError) Error() string    { return "the bank is closed" }
func (e *bankError) Code() fault.Code { return fault.Busy }
func (e *bankError) Details() any     { return map[string]any{"request": []string{e.request}} }

type transfer struct {
	From tools.Secret `json:"from"`
	To   tools.Secret `json:"to"`
	As   string       `json:"as"`
}

// Of a secret that was opened nothing is told by the details of an error, and of one
// that begins like another not the rest.
func TestWhatAnOpenedSecretLeaves(t *testing.T) {
	op := tools.New("bank:transfer", "Transfer.",
		func(transfer) []caps.Request { return []caps.Request{caps.Need("invoke", "bank")} },
		func(ctx context.Context, call tools.Call, in transfer) (string, error) {
			from, err := in.From.Open(ctx, call)
			if err != nil {
				return "", err
			}
			to, err := in.To.Open(ctx, call)
			if err != nil {
				return "", err
			}
			switch in.As {
			case "details":
				return "", &bankError{"from=" + from}
			case "other details":
				return "", &bankError{"nothing"}
			}
			return from + ", " + to, nil
		})
	p := new(puppet)
	v := open(t, &venue.Options{Tools: []*tools.Operation{op}, Models: map[string]runtime.Model{"default": p}})
	alice := user(t, v, "alice")
	setSecret(t, alice, "A", "hunter2")
	setSecret(t, alice, "B", "hunter2-production")
	s := spec("carol", "", `[{"with":"bank","can":"invoke"},{"with":"s/","can":"secret"}]`)
	s.Tools = []string{"bank:transfer"}
	carol := create(t, alice, s)
	for as, want := range map[string]string{
		"output":        `"[redacted], [redacted]"`,
		"details":       `{"error":"busy","message":"the bank is closed","retryable":true}`,
		"other details": `{"error":"busy","message":"the bank is closed","retryable":true,"details":{"request":["nothing"]}}`,
	} {
		if got := attempt(t, carol, p, "bank_transfer", `{"from":"secret:A","to":"secret:B","as":"`+as+`"}`).Result; got != want {
			t.Errorf("%s: the model was told %s, want %s", as, got, want)
		}
	}
}

// Whoever asks what an agent is told may change what it got.
func TestABriefingIsItsReaders(t *testing.T) {
	p := new(puppet)
	alice := user(t, open(t, with(p)), "alice")
	s := spec("carol", "", `[{"with":"w/","can":"crud"}]`)
	s.Tools = []string{"covia:*"}
	carol := create(t, alice, s)
	b, err := carol.Brief(t.Context())
	if err != nil || len(b.Tools) == 0 {
		t.Fatalf("%d tools, %v", len(b.Tools), err)
	}
	clear(b.Tools)
	if b, err = carol.Brief(t.Context()); err != nil || b.Tools[0].Name == "" {
		t.Errorf("the next one gets %+v, %v", b.Tools, err)
	}
}

// Who follows a run follows it as long as their session holds.
func TestEventsEndWithTheSession(t *testing.T) {
	m := make(stuck, 1)
	v := open(t, with(m))
	alice := user(t, v, "alice")
	ann := create(t, alice, spec("ann", "", "[]"))
	r, err := ann.Start(t.Context(), "", "hello")
	if err != nil {
		t.Fatal(err)
	}
	<-m
	p, revoke := session(t, v, alice)
	seen := 0
	for _, err = range p.Events(t.Context(), r.ID(), 0) {
		if seen++; err == nil {
			revoke()
			r.Stop(runtime.ErrStopped)
		}
	}
	if !errors.Is(err, ucan.ErrRevoked) || seen != 2 {
		t.Errorf("%d events, the last with %v; want one, and that the token is revoked", seen, err)
	}
}

// What a principal brings along, and what one call requires, is bounded: the first
// is looked at by each call and kept with each run.
func TestOneCallIsBounded(t *testing.T) {
	v := open(t, nil)
	alice, issuer := user(t, v, "alice"), newIssuer(t)
	proof := forge(t, issuer.Key, alice.DID().String(), []attenuation{{"w/", "crud"}}, 1e9*3600)
	mine, many := identity(t, issuer, v.DID()), strings.Split(strings.Repeat(proof+" ", 17), " ")[:17]
	if _, err := v.Authenticate(t.Context(), mine, many[:16]...); err != nil {
		t.Errorf("16 proofs: %v", err)
	}
	if _, err := v.Authenticate(t.Context(), mine, many...); err == nil || !strings.Contains(err.Error(), "at most 16") {
		t.Errorf("17 proofs: %v", err)
	}
	list := make([]string, tools.MaxRequired)
	for i := range list {
		list[i] = fmt.Sprintf(`{"with":"%s/w/%d","can":"crud"}`, v.DID(), i)
	}
	_, err := alice.Invoke(t.Context(), "ucan:delegate", json.RawMessage(`{"audience":"`+v.DID().String()+`","capabilities":[`+strings.Join(list, ",")+`]}`))
	if _, ok := errors.AsType[*tools.InputError](err); !ok || !strings.Contains(err.Error(), "at most 1024") {
		t.Errorf("%d requirements: %v", len(list)+1, err)
	}
}
