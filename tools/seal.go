package tools

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"slices"

	"usher/caps/value"
	"usher/ucan"
)

// errSealBroken: a stored authority is not one that this venue sealed.
var errSealBroken = errors.New("the seal of a stored authority is broken: this venue did not store it as it is")

type sealJSON struct {
	Authority json.RawMessage `json:"authority"`
	Seal      []byte          `json:"seal"` // HMAC-SHA256 of authority, by the key of the mint
}

type authorityJSON struct {
	Lineage struct {
		Owner  ucan.DID `json:"owner"`
		Chain  []actor  `json:"chain"`
		Proofs []string `json:"proofs,omitempty"`
	} `json:"lineage"`
	Trail trail    `json:"trail,omitzero"`
	Spent *Amounts `json:"spent,omitempty"`
}

// MarshalJSON writes the authority under the seal of its mint, for [Mint.Open].
func (a Authority) MarshalJSON() ([]byte, error) {
	if a.line().mint == nil {
		return nil, fmt.Errorf("store authority: %w", errForeignAuthority)
	}
	lineage, err := a.encode()
	if err != nil {
		return nil, fmt.Errorf("store authority: %w", err)
	}
	w := value.NewWriter()
	at := w.Begin("authority")
	w.Raw("lineage", lineage)
	if err := a.trail.write(&w, "trail"); err != nil {
		return nil, fmt.Errorf("store authority: %w", err)
	}
	if a.meter != nil {
		spent := a.meter.Amounts()
		spent.Write(&w, "spent")
	}
	w.End()
	seal := base64.StdEncoding.AppendEncode(append(make([]byte, 0, 48), '"'), a.mint.seal(w.Since(at)))
	w.Raw("seal", append(seal, '"'))
	return w.Object(), nil
}

// write writes the trail as a member: as encoding/json does, which may have to pass
// it on, and would break the seal of what it wrote in another way.
func (t *trail) write(w *value.Writer, name string) error {
	at := w.Begin(name)
	w.Some("run", t.Run)
	w.Some("parent", t.Parent)
	w.Some("session", t.Session)
	w.Count("depth", int64(t.Depth))
	w.Mark("inner", t.Inner)
	w.Texts("turns", t.Turns)
	w.Some("schedule", t.Schedule)
	w.Mark("relayed", t.Relayed)
	w.Count("until", t.Until)
	w.Some("bearer", t.Bearer)
	w.End()
	if !bytes.ContainsAny(w.Since(at), "<>&") {
		return nil
	}
	raw, err := json.Marshal(t)
	if err == nil {
		w.Instead(at, raw)
	}
	return err
}

// encode returns the lineage as JSON, made once.
func (l *lineage) encode() ([]byte, error) {
	if raw := l.json.Load(); raw != nil {
		return *raw, nil
	}
	var out authorityJSON
	out.Lineage.Owner, out.Lineage.Chain = l.owner, l.chain
	for _, p := range l.proofs {
		out.Lineage.Proofs = append(out.Lineage.Proofs, p.Text())
	}
	raw, err := json.Marshal(out.Lineage)
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
	var sealed sealJSON
	if err := json.Unmarshal(stored, &sealed); err != nil || len(m.key) == 0 || !hmac.Equal(sealed.Seal, m.seal(sealed.Authority)) {
		return Authority{}, errSealBroken
	}
	var in authorityJSON
	if err := json.Unmarshal(sealed.Authority, &in); err != nil {
		return Authority{}, fmt.Errorf("open authority: %w", err)
	}
	from := in.Lineage
	if from.Owner.IsZero() || len(from.Chain) == 0 || slices.ContainsFunc(from.Chain, func(a actor) bool { return a.Owner.IsZero() }) {
		return Authority{}, errSealBroken
	}
	var proofs []*ucan.Link
	for _, text := range from.Proofs {
		l, err := ucan.OpenText(text)
		if err != nil {
			return Authority{}, fmt.Errorf("open authority: its proofs: %w", err)
		}
		proofs = append(proofs, l)
	}
	a := Authority{lineage: newLineage(m, from.Owner, from.Chain, proofs), trail: in.Trail}
	if in.Spent != nil {
		a.meter = NewMeter(m.limits)
		a.meter.add(in.Spent)
	}
	return a, nil
}
