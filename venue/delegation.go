package venue

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"usher/caps"
	"usher/prompt"
	"usher/tools"
	"usher/ucan"
	"usher/venue/visitors"
)

// mayRoot lets the venue speak for the principals whose keys it has.
func (v *Venue) mayRoot(owner, issuer ucan.DID) bool {
	return issuer == v.DID() && v.keys.Hosts(owner)
}

// signer returns what an agent holds that signed a token. What a key of this venue
// signed, an agent of this venue did, also one of a principal whose key is elsewhere.
// Of another venue's agent nothing is known here: its venue bounds it.
func (v *Venue) signer(ctx context.Context, issuer, audience ucan.DID, agent string) (caps.Set, ucan.DID) {
	owner, err := ucan.ParseDID(tools.Life(agent).Owner())
	if err != nil {
		return caps.Set{}, ucan.DID{}
	}
	if visitors.IsLife(tools.Life(agent)) && v.keys.Hosts(issuer) {
		return v.lives.visitors.Signs(ctx, issuer, audience, tools.Life(agent))
	}
	if issuer != v.DID() && !v.keys.Hosts(issuer) && !v.keys.Hosts(owner) {
		return caps.Unrestricted(), owner
	}
	return v.lives.Live(ctx, tools.Life(agent))
}

// retire revokes what an independent agent has delegated, and forgets its key.
func (v *Venue) retire(ctx context.Context, life tools.Life, did ucan.DID) error {
	for l, err := range v.tokens.ByIssuer(ctx, did) {
		if err == nil {
			err = v.desk.Revoke(ctx, did, l.CID)
		}
		if err != nil {
			return err
		}
	}
	return v.keys.Forget(ctx, life, did)
}

// maxHeld bounds what a prompt lists of delegations.
const maxHeld = 32

// delegationsTo lists what others have delegated to the principal behind auth, as far as
// it would be allowed at this moment: by a chain, and by the agent's own
// capabilities, of which a narrower one shows its own part.
func (v *Venue) delegationsTo(ctx context.Context, auth tools.Authority) ([]prompt.Delegation, error) {
	set := auth.Caps()
	if !namesOthers(set) {
		return nil, nil
	}
	holdings, err := v.verifier.Holdings(ctx, auth.Owner(), ucan.DID{}, maxHeld)
	if err != nil {
		return nil, err
	}
	var out []prompt.Delegation
	for _, h := range holdings {
		for c := range set.Intersect(caps.Of(h.Capability)).All() {
			d := prompt.Delegation{Capability: c, Owner: h.Owner.String()}
			if !h.Expires.IsZero() {
				d.Expires = h.Expires.Format(time.RFC3339)
			}
			// The words of a resource are another's: nothing that reads as a
			// sentence gets into the prompt.
			if !c.Denies() && len(out) < maxHeld && plain(c.With()) && !slices.Contains(out, d) {
				out = append(out, d)
			}
		}
	}
	return out, nil
}

// namesOthers reports whether a set could allow anything in another's namespace.
func namesOthers(set caps.Set) bool {
	if set.IsUnrestricted() {
		return true
	}
	for c := range set.All() {
		if c.Resource().DID() != "" {
			return true
		}
	}
	return false
}

// plain reports whether a resource is written without spaces and signs, and
// short enough for a line.
func plain(with string) bool {
	const signs = "-._~:/@+"
	return len(with) <= 256 && strings.IndexFunc(with, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(signs, r)
	}) < 0
}
