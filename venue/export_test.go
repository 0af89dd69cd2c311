package venue

import (
	"bytes"
	"context"
	"strconv"
	"time"

	"usher/tools"
	"usher/ucan"
	"usher/venue/store"
)

// AppliedSpace has what was applied of a configuration.
func (v *Venue) AppliedSpace() *store.Space { return v.store.Under("c/") }

// OpenAuthority opens a stored authority, for tests of what it allows.
func (v *Venue) OpenAuthority(stored []byte) (tools.Authority, error) { return v.mint.Open(stored) }

// Decide is what the gate makes of a call.
func (v *Venue) Decide(ctx context.Context, auth tools.Authority, inv tools.Invocation) (*tools.Ruling, error) {
	return v.gate.Decide(ctx, auth, inv)
}

// Before has an engine stand before that of the data folder.
func (o *Options) Before(engine func(store.Engine) store.Engine) { o.engine = engine }

// Transactions is how many batches the store has applied, this question included:
// each gets the next revision.
func (v *Venue) Transactions(ctx context.Context) (n uint64, err error) {
	if _, err := v.store.Apply(ctx, nil, map[string][]byte{"test/probe": {}}, nil); err != nil {
		return 0, err
	}
	_, n, err = v.store.Get(ctx, "test/probe")
	return n, err
}

// RememberCallables is how many of n programs are remembered, and whether the last is.
func RememberCallables(n int) (kept int, last bool) {
	c := callables{made: make(map[callableKey]callable)}
	var key callableKey
	for i := range n {
		key.path = strconv.Itoa(i)
		c.keep(key, callable{rev: 1})
	}
	return len(c.made), c.find(key).rev == 1
}

// Leave has agents that have ended revoked elsewhere.
func (v *Venue) Leave(ctx context.Context) time.Time { return v.abroad.Leave(ctx) }

// KeysBelow counts the rows of the store below a prefix.
func (v *Venue) KeysBelow(ctx context.Context, prefix string) (n int, err error) {
	for _, err := range store.Keys(ctx, v.store, prefix, "") {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Expire has the requests for approvals end that nobody has answered in time.
func (v *Venue) Expire(ctx context.Context) error { return v.approvals.Expire(ctx) }

// Replace changes a row of the store behind the venue's back. It returns in how many
// places.
func (v *Venue) Replace(ctx context.Context, key, text, by string) (n int, err error) {
	raw, _, err := v.store.Get(ctx, key)
	if err != nil {
		return 0, err
	}
	if n = bytes.Count(raw, []byte(text)); n > 0 {
		_, err = v.store.Apply(ctx, nil, map[string][]byte{key: bytes.ReplaceAll(raw, []byte(text), []byte(by))}, nil)
	}
	return n, err
}

// Identity is an identity token by the key of a principal of the venue.
func (v *Venue) Identity(ctx context.Context, of string) (string, error) {
	did, err := ucan.ParseDID(of)
	if err != nil {
		return "", err
	}
	key, err := v.keys.Of(ctx, did)
	if err != nil {
		return "", err
	}
	issuer := ucan.Issuer{Key: key, Verifier: v.verifier, Rand: v.random}
	l, err := issuer.Identity(v.DID(), v.now().Add(time.Hour))
	if err != nil {
		return "", err
	}
	return l.Text(), nil
}

// Wake has a run of owner's go on, if what it waits for is over.
func (v *Venue) Wake(ctx context.Context, owner ucan.DID, id string) error {
	return v.runs.Wake(ctx, owner, id)
}
