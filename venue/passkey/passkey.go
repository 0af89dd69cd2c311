package passkey

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
	"github.com/go-webauthn/webauthn/webauthn"
)

// Life is how long somebody may take to answer.
const Life = 5 * time.Minute

// Party is for whom passkeys are made.
type Party struct {
	Name   string // of the host, in lower case
	Origin string // of its pages
}

// User is whose passkey it is.
type User struct {
	Handle []byte // 1 to 64 bytes that say nothing of the person
	Name   string // what an authenticator shows
}

// Key is a passkey.
type Key struct {
	ID         []byte   `json:"id"`
	Public     []byte   `json:"public"` // COSE
	Counter    uint32   `json:"counter,omitempty"`
	Synced     bool     `json:"synced,omitempty"` // whether it may be on several devices, which never changes
	Transports []string `json:"transports,omitempty"`
	Name       string   `json:"name"`
	Created    int64    `json:"created"` // ms
}

// Bounds of what an authenticator says, in bytes, and of ways to reach it.
const (
	maxID         = 1023 // WebAuthn, 4
	maxPublic     = 2 << 10
	maxTransports = 8
)

// ErrCounter says that an authenticator has counted back: there may be two with the same key.
var ErrCounter = errors.New("its counter went back, so there may be a copy of it")

// algorithms of keys, the best first.
var algorithms = []protocol.CredentialParameter{
	{Type: protocol.PublicKeyCredentialType, Algorithm: webauthncose.AlgES256},
	{Type: protocol.PublicKeyCredentialType, Algorithm: webauthncose.AlgEdDSA},
	{Type: protocol.PublicKeyCredentialType, Algorithm: webauthncose.AlgRS256},
}

// Make is what a browser is asked for a new passkey beside those that the person has.
func (p *Party) Make(who User, challenge []byte, has []Key) (json.RawMessage, error) {
	return json.Marshal(protocol.PublicKeyCredentialCreationOptions{
		RelyingParty: protocol.RelyingPartyEntity{ID: p.Name, CredentialEntity: protocol.CredentialEntity{Name: p.Name}},
		User: protocol.UserEntity{
			ID: protocol.URLEncodedBase64(who.Handle), DisplayName: who.Name, CredentialEntity: protocol.CredentialEntity{Name: who.Name},
		},
		Challenge: challenge, Parameters: algorithms, Timeout: int(Life.Milliseconds()), CredentialExcludeList: descriptors(has),
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementDiscouraged, UserVerification: protocol.VerificationRequired,
		},
		Attestation: protocol.PreferNoAttestation,
	})
}

// Ask is what a browser is asked for the word of one of the passkeys.
func (p *Party) Ask(challenge []byte, of []Key) (json.RawMessage, error) {
	return json.Marshal(protocol.PublicKeyCredentialRequestOptions{
		Challenge: challenge, Timeout: int(Life.Milliseconds()), RelyingPartyID: p.Name,
		AllowedCredentials: descriptors(of), UserVerification: protocol.VerificationRequired,
	})
}

func descriptors(of []Key) (list []protocol.CredentialDescriptor) {
	for i := range of {
		d := protocol.CredentialDescriptor{Type: protocol.PublicKeyCredentialType, CredentialID: of[i].ID}
		for _, t := range of[i].Transports {
			d.Transport = append(d.Transport, protocol.AuthenticatorTransport(t))
		}
		list = append(list, d)
	}
	return list
}

// Finish reads the answer to [Party.Make]. The person was verified, and the key says nothing of
// what made it.
func (p *Party) Finish(who User, challenge, answer []byte) (*Key, error) {
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer)
	if err != nil {
		return nil, plain(err)
	}
	if f := parsed.Response.AttestationObject.Format; f != "none" && f != "packed" {
		return nil, errors.New("it attests what nobody asked for")
	}
	library, err := p.library()
	if err != nil {
		return nil, err
	}
	session := p.session(who, challenge)
	session.CredParams = algorithms
	made, err := library.CreateCredential(&user{User: who}, session, parsed)
	if err != nil {
		return nil, plain(err)
	}
	if len(made.ID) == 0 || len(made.ID) > maxID || len(made.PublicKey) > maxPublic {
		return nil, errors.New("its id or its key is too long")
	}
	k := &Key{ID: made.ID, Public: made.PublicKey, Counter: made.Authenticator.SignCount, Synced: made.Flags.BackupEligible}
	for _, t := range made.Transport[:min(len(made.Transport), maxTransports)] {
		if len(t) < 16 {
			k.Transports = append(k.Transports, string(t))
		}
	}
	return k, nil
}

// Check reads the answer to [Party.Ask]: which of the passkeys confirms, and its counter. The
// error is [ErrCounter] for one that counts back.
func (p *Party) Check(who User, challenge, answer []byte, of []Key) (which int, counter uint32, err error) {
	if len(of) == 0 {
		return 0, 0, errors.New("there is no passkey")
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil {
		return 0, 0, plain(err)
	}
	library, err := p.library()
	if err != nil {
		return 0, 0, err
	}
	session := p.session(who, challenge)
	u := &user{User: who}
	for i := range of {
		session.AllowedCredentialIDs = append(session.AllowedCredentialIDs, of[i].ID)
		u.keys = append(u.keys, webauthn.Credential{
			ID: of[i].ID, PublicKey: of[i].Public, Flags: webauthn.CredentialFlags{BackupEligible: of[i].Synced},
			Authenticator: webauthn.Authenticator{SignCount: of[i].Counter},
		})
	}
	by, err := library.ValidateLogin(u, session, parsed)
	if err != nil {
		return 0, 0, plain(err)
	}
	if by.Authenticator.CloneWarning {
		return 0, 0, ErrCounter
	}
	which = slices.IndexFunc(of, func(k Key) bool { return bytes.Equal(k.ID, by.ID) })
	if which < 0 {
		return 0, 0, errors.New("it is none of those that were asked")
	}
	return which, by.Authenticator.SignCount, nil
}

func (p *Party) library() (*webauthn.WebAuthn, error) {
	return webauthn.New(&webauthn.Config{RPID: p.Name, RPDisplayName: p.Name, RPOrigins: []string{p.Origin}})
}

func (p *Party) session(who User, challenge []byte) webauthn.SessionData {
	return webauthn.SessionData{
		Challenge: base64.RawURLEncoding.EncodeToString(challenge), RelyingPartyID: p.Name, UserID: who.Handle,
		UserVerification: protocol.VerificationRequired,
	}
}

// plain is an error of the library with what it says of why.
func plain(err error) error {
	if of, ok := errors.AsType[*protocol.Error](err); ok && of.Details != "" {
		return fmt.Errorf("it is not accepted: %s", of.Details)
	}
	return fmt.Errorf("it is not accepted: %w", err)
}

// user is who answers, as the library takes them.
type user struct {
	User
	keys []webauthn.Credential
}

var _ webauthn.User = (*user)(nil)

func (u *user) WebAuthnID() []byte                         { return u.Handle }
func (u *user) WebAuthnName() string                       { return u.Name }
func (u *user) WebAuthnDisplayName() string                { return u.Name }
func (u *user) WebAuthnCredentials() []webauthn.Credential { return u.keys }
