package visitors

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"usher/ucan"
	"usher/venue/passkey"
)

// maxPasskeys is how many a person has at most.
const maxPasskeys = 10

// passkeys are those of a person, and what one of them is asked to confirm now. A passkey of a
// venue of another name is none here.
type passkeys struct {
	Keys  []passkey.Key `json:"keys,omitempty"`
	Nonce []byte        `json:"nonce,omitempty"` // that all challenges are made of; none when it was answered
	Asked int64         `json:"asked,omitempty"` // ms

	key   string
	rev   uint64
	party passkey.Party
}

// passkeys reads those of a person; what they have not is empty.
func (r *Room) passkeys(ctx context.Context, who ucan.DID) (*passkeys, error) {
	set := r.Settings()
	p := &passkeys{}
	var err error
	if p.party.Name, p.party.Origin, err = set.Party(); err != nil {
		return nil, refuse(Unavailable, "%v", err)
	}
	p.key = prefix + "passkey/" + p.party.Name + "/" + who.String()
	p.rev, err = look(ctx, r, p.key, p)
	return p, err
}

// Passkeys lists those of a person, the oldest first.
func (r *Room) Passkeys(ctx context.Context, who Person) ([]passkey.Key, error) {
	p, err := r.passkeys(ctx, who.DID)
	if err != nil {
		return nil, err
	}
	return p.Keys, nil
}

// ResetPasskeys forgets all passkeys of a person who has lost them, and what they were asked, and
// returns how many there were. It asks nobody: it is for who owns the data folder.
func (r *Room) ResetPasskeys(ctx context.Context, who ucan.DID) (n int, err error) {
	err = r.again(ctx, func(c *change) error {
		p, err := r.passkeys(ctx, who)
		if err != nil {
			return err
		}
		if n = len(p.Keys); n == 0 {
			return nil
		}
		p.Keys, p.Nonce, p.Asked = nil, nil, 0
		c.passkeys(p)
		c.row = row{Call: "passkey", User: who.String(), Result: "reset", Detail: fmt.Sprintf("%d forgotten", n)}
		return nil
	})
	return n, err
}

// userOf is a person as an authenticator knows them.
func userOf(who ucan.DID) passkey.User {
	sum := sha256.Sum256([]byte("usher passkey\x00" + who.String()))
	return passkey.User{Handle: sum[:], Name: who.String()}
}

// askPasskey begins something that a passkey confirms, in place of what it was asked before: what is
// asked is made of the nonce.
func (r *Room) askPasskey(ctx context.Context, who ucan.DID, of func(*passkeys) error) error {
	if !r.Keys.Hosts(who) {
		return errNoUser
	}
	return r.again(ctx, func(c *change) error {
		p, err := r.passkeys(ctx, who)
		if err != nil {
			return err
		}
		p.Nonce, p.Asked = make([]byte, 32), r.Now().UnixMilli()
		if _, err := io.ReadFull(r.Rand, p.Nonce); err != nil {
			return fmt.Errorf("make a challenge: %w", err)
		}
		if err := of(p); err != nil {
			return err
		}
		c.passkeys(p)
		c.asks = true
		return nil
	})
}

// nonce is what a person's passkey was asked with. It is used up, whatever becomes of the answer.
func (r *Room) nonce(ctx context.Context, who ucan.DID) (nonce []byte, err error) {
	var asked int64
	err = r.again(ctx, func(c *change) error {
		p, err := r.passkeys(ctx, who)
		switch {
		case err != nil:
			return err
		case len(p.Nonce) == 0:
			return refuse(webauthnFailed, "your passkey was not asked for this, or has answered already: begin again")
		}
		nonce, asked = p.Nonce, p.Asked
		p.Nonce, p.Asked = nil, 0
		c.passkeys(p)
		c.asks = true
		return nil
	})
	if age := r.Now().UnixMilli() - asked; err == nil && (age < 0 || age > passkey.Life.Milliseconds()) {
		err = refuse(webauthnFailed, "your passkey was asked more than 5 minutes ago: begin again")
	}
	return nonce, err
}

// challenge is what is signed of something to confirm.
func challenge(nonce []byte, what any) []byte {
	sum := sha256.Sum256(encode(struct {
		Nonce []byte `json:"nonce"`
		What  any    `json:"what"`
	}{nonce, what}))
	return sum[:]
}

// confirm holds the answer of a passkey against what it was asked, and counts it.
func (r *Room) confirm(ctx context.Context, who ucan.DID, p *passkeys, challenge []byte, answer json.RawMessage) error {
	i, counter, err := p.party.Check(userOf(who), challenge, answer, p.Keys)
	if errors.Is(err, passkey.ErrCounter) {
		r.Logger.WarnContext(ctx, "the counter of a passkey went back: there may be a copy of it", "person", who)
	}
	if err != nil {
		return refuse(webauthnFailed, "your passkey has not confirmed exactly this: %v", err)
	}
	p.Keys[i].Counter = counter
	return nil
}

// passkeys adds to a change the passkeys as they are now, where nobody has changed them since.
func (c *change) passkeys(p *passkeys) { c.set(p.key, p.rev, encode(p)) }

// PasskeyChange is what a person does to their passkeys: one of the two.
type PasskeyChange struct {
	Add    string `json:"add,omitempty"`    // the name of a new one, up to 200 bytes
	Remove []byte `json:"remove,omitempty"` // the id of one
}

// PasskeyOptions is what a browser asks the authenticators of a person, as it takes it; nil for
// what it does not ask.
type PasskeyOptions struct{ Get, Create json.RawMessage }

// Purposes of challenges.
const (
	purposeApprove = "approve"
	purposeChange  = "change"
	purposeMake    = "make"
)

// passkeyChange is what a challenge is made of where passkeys change.
type passkeyChange struct {
	Purpose string        `json:"purpose"`
	Person  string        `json:"person"`
	Change  PasskeyChange `json:"change"`
}

// mayChange reports whether a person changes their passkeys: they have signed in a moment ago.
func (r *Room) mayChange(who Person, what *PasskeyChange) error {
	what.Add = strings.TrimSpace(what.Add)
	switch {
	case (what.Add == "") == (len(what.Remove) == 0):
		return refuse(InvalidRequest, "give the passkey a name")
	case len(what.Add) > maxName || !utf8.ValidString(what.Add) || strings.ContainsFunc(what.Add, unicode.IsControl):
		return refuse(InvalidRequest, "the name of a passkey has up to %d bytes, in one line", maxName)
	case !r.Keys.Hosts(who.DID):
		return errNoUser
	case !r.isFresh(who):
		return refuse(freshSession, "passkeys take a person who has signed in within 5 minutes: sign out and in again")
	}
	return nil
}

// check says why a change is not possible.
func (p *passkeys) check(what *PasskeyChange) error {
	if what.Add != "" && len(p.Keys) >= maxPasskeys {
		return refuse(LimitExceeded, "you have %d passkeys, and more are not kept: remove one", maxPasskeys)
	}
	if what.Add == "" && p.find(what.Remove) < 0 {
		return refuse(InvalidRequest, "you have no such passkey")
	}
	return nil
}

func (p *passkeys) find(id []byte) int {
	return slices.IndexFunc(p.Keys, func(k passkey.Key) bool { return bytes.Equal(k.ID, id) })
}

// AskPasskeys begins a change of somebody's passkeys. Who has one confirms it with one.
func (r *Room) AskPasskeys(ctx context.Context, who Person, what PasskeyChange) (out PasskeyOptions, err error) {
	if err := r.mayChange(who, &what); err != nil {
		return out, err
	}
	err = r.askPasskey(ctx, who.DID, func(p *passkeys) (err error) {
		if err := p.check(&what); err != nil {
			return err
		}
		as := passkeyChange{purposeChange, who.DID.String(), what}
		if len(p.Keys) > 0 {
			out.Get, err = p.party.Ask(challenge(p.Nonce, as), p.Keys)
		}
		if as.Purpose = purposeMake; err == nil && what.Add != "" {
			out.Create, err = p.party.Make(userOf(who.DID), challenge(p.Nonce, as), p.Keys)
		}
		return err
	})
	return out, err
}

// ChangePasskeys makes a change that [Room.AskPasskeys] has begun, with what came of it.
func (r *Room) ChangePasskeys(ctx context.Context, who Person, what PasskeyChange, said PasskeyOptions) error {
	if err := r.mayChange(who, &what); err != nil {
		return err
	}
	nonce, err := r.nonce(ctx, who.DID)
	if err != nil {
		return err
	}
	return r.again(ctx, func(c *change) error {
		p, err := r.passkeys(ctx, who.DID)
		if err == nil {
			err = p.check(&what)
		}
		if err != nil {
			return err
		}
		as := passkeyChange{purposeChange, who.DID.String(), what}
		if len(p.Keys) > 0 {
			if err := r.confirm(ctx, who.DID, p, challenge(nonce, as), said.Get); err != nil {
				return err
			}
		}
		c.row = row{Call: "passkey", User: who.DID.String(), Result: "added"}
		if as.Purpose = purposeMake; what.Add != "" {
			made, err := p.party.Finish(userOf(who.DID), challenge(nonce, as), said.Create)
			switch {
			case err != nil:
				return refuse(webauthnFailed, "the passkey was not made: %v", err)
			case p.find(made.ID) >= 0:
				return refuse(webauthnFailed, "you have this passkey already")
			}
			made.Name, made.Created = what.Add, r.Now().UnixMilli()
			p.Keys = append(p.Keys, *made)
			c.row.Item, c.row.Detail = b64.EncodeToString(made.ID[:min(len(made.ID), 16)]), made.Name
		} else {
			i := p.find(what.Remove)
			c.row.Result, c.row.Item, c.row.Detail = "removed", b64.EncodeToString(p.Keys[i].ID[:min(len(p.Keys[i].ID), 16)]), p.Keys[i].Name
			p.Keys = slices.Delete(p.Keys, i, i+1)
		}
		c.passkeys(p)
		return nil
	})
}
