package cli

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	"usher/ucan"
	"usher/venue"
	"usher/venue/visitors"
)

type passkeysCmd struct {
	List  passkeysListCmd  `cmd:"" reads:"" help:"List passkeys: their names, when they were made, and their ids."`
	Reset passkeysResetCmd `cmd:"" help:"Forget all passkeys of a person who has lost them: they make a new one on /agent/passkeys."`
}

// ofPerson says whose passkeys are meant.
type ofPerson struct {
	Person *ucan.DID `placeholder:"DID" help:"Whose passkeys. Default: yours."`
}

func (o *ofPerson) of(u *venue.User) ucan.DID {
	if o.Person == nil {
		return u.DID()
	}
	return *o.Person
}

type passkeysListCmd struct {
	onVenue
	ofPerson
}

func (c *passkeysListCmd) Run(ctx context.Context, s *streams) error {
	return c.withVenue(ctx, s, func(v *venue.Venue, u *venue.User) error {
		list, err := v.Visitors().Passkeys(ctx, visitors.Person{DID: c.of(u)})
		if err != nil {
			return err
		}
		shown := make([]passkeyView, len(list))
		for i, k := range list {
			shown[i] = passkeyView{k.Name, k.Created, base64.RawURLEncoding.EncodeToString(k.ID)}
		}
		const none = "there are no passkeys: who has signed in makes one on /agent/passkeys"
		return printList(s, c.JSON, shown, none, []string{"PASSKEY", "MADE", "ID"}, func(k *passkeyView) []string {
			return []string{k.Name, s.minute(time.UnixMilli(k.Created)), k.ID}
		})
	})
}

// passkeyView is a passkey as it is listed.
type passkeyView struct {
	Name    string `json:"name"`
	Created int64  `json:"created"` // ms
	ID      string `json:"id"`
}

type passkeysResetCmd struct {
	onVenue
	ofPerson
}

func (c *passkeysResetCmd) Run(ctx context.Context, s *streams) error {
	return c.withVenue(ctx, s, func(v *venue.Venue, u *venue.User) error {
		n, err := v.Visitors().ResetPasskeys(ctx, c.of(u))
		if err != nil {
			return err
		}
		return s.answer(c.JSON, map[string]int{"forgotten": n}, fmt.Sprintf("forgot %s\n", many(n, "passkey")))
	})
}
