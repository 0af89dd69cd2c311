package tools

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"slices"

	"usher/ucan"
)

// ErrSealBroken: a stored authority is not one that this venue sealed.
var ErrSealBroken = errors.New("the seal of a stored authority is broken: this venue did not store it as it is")

type sealedJSON struct {
	Authority json.RawMessage `json:"authority"`
	Seal      []byte          `json:"seal"` // HMAC-SHA256 of authority, by the key of the mint
}

type lineageJSON struct {
	Owner  ucan.DID `json:"owner"`
	Chain  []Actor  `json:"chain"`
	Proofs []string `json:"proofs,omitempty"`
}

type authorityJSON struct {
	lineageJSON
	Trail Trail  `json:"trail,omitzero"`
	Meter *Spent `json:"spent,omitempty"`
}

// MarshalJSON writes the authority under the seal of its mint, for [Mint.Open].
func (a Authority) MarshalJSON() ([]byte, error) {
	if a.lineage == nil || a.mint == nil {
		return nil, fmt.Errorf("store authority: %w", ErrForeignAuthority)
	}
	raw, err := a.encoded()
	if err == nil {
		var trail []byte
		trail, err = json.Marshal(&a.trail)
		raw = append(append(slices.Grow(slices.Clip(raw[:len(raw)-1]), len(trail)+128), `,"trail":`...), trail...)
	}
	if err != nil {
		return nil, fmt.Errorf("store authority: %w", err)
	}
	if a.meter != nil {
		spent := a.meter.Spent()
		raw = append(append(raw, `,"spent":`...), spent.JSON()...)
	}
	raw = append(raw, '}')
	b := append(append(make([]byte, 0, len(raw)+80), `{"authority":`...), raw...)
	b = base64.StdEncoding.AppendEncode(append(b, `,"seal":"`...), a.mint.seal(raw))
	return append(b, `"}`...), nil
}

// encoded is the JSON object of the lineage, made once.
func (l *lineage) encoded() ([]byte, error) {
	if raw := l.json.Load(); raw != nil {
		return *raw, nil
	}
	out := lineageJSON{Owner: l.owner, Chain: l.chain}
	for _, p := range l.proofs {
		out.Proofs = append(out.Proofs, p.Text())
	}
	raw, err := json.Marshal(out)
	if err == nil {
		l.json.Store(&raw)
	}
	return raw, err
}

func (m *Mint) seal(raw []byte) []byte {
	mac, made := m.macs.Get().(hash.Hash)
	if !made {
		mac = hmac.New(sha256.New, m.key)
	}
	defer m.macs.Put(mac)
	mac.Reset()
	mac.Write([]byte("usher authority\n"))
	mac.Write(raw)
	return mac.Sum(nil)
}

// Open returns a stored authority, if this mint or one of the same key sealed
// it. It allows what the agents in it may do now, as if it had never been
// stored.
func (m *Mint) Open(stored []byte) (Authority, error) {
	var sealed sealedJSON
	if err := json.Unmarshal(stored, &sealed); err != nil || len(m.key) == 0 || !hmac.Equal(sealed.Seal, m.seal(sealed.Authority)) {
		return Authority{}, ErrSealBroken
	}
	var in authorityJSON
	if err := json.Unmarshal(sealed.Authority, &in); err != nil {
		return Authority{}, fmt.Errorf("open authority: %w", err)
	}
	if in.Owner.IsZero() || len(in.Chain) == 0 || slices.ContainsFunc(in.Chain, func(a Actor) bool { return a.Owner.IsZero() }) {
		return Authority{}, ErrSealBroken
	}
	var proofs []*ucan.Link
	for _, text := range in.Proofs {
		l, err := ucan.OpenText(text)
		if err != nil {
			return Authority{}, fmt.Errorf("open authority: its proofs: %w", err)
		}
		proofs = append(proofs, l)
	}
	a := Authority{lineage: newLineage(m, in.Owner, in.Chain, proofs), trail: in.Trail}
	if in.Meter != nil {
		a.meter = NewMeter(m.limits)
		a.meter.add(*in.Meter)
	}
	return a, nil
}
