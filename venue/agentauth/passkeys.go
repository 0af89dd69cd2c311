package agentauth

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"time"

	"usher/venue/visitors"
)

// passkeysPath is the page on which a person makes and removes passkeys.
const passkeysPath = "/agent/passkeys"

// shownPasskeys is what the page of passkeys says.
type shownPasskeys struct {
	Venue, Who, Error, Done, Forgery, SignIn string
	Keys                                     []shownPasskey
	Press, Add, Remove                       string // what is begun
	Get, Create                              string // what the browser asks, as JSON
}

type shownPasskey struct{ ID, Name, Created string }

// passkeys lists those of who has signed in.
func (c *call) passkeys() error {
	c.showPasskeys(http.StatusOK, shownPasskeys{}, nil)
	return nil
}

// showPasskeys writes the page with what was done, or what is begun.
func (c *call) showPasskeys(status int, s shownPasskeys, failed error) {
	s.Venue, s.SignIn = c.face.door.Venue.Name(), signInPath+"?to="+url.QueryEscape(passkeysPath)
	who, in, err := c.signedIn()
	if err == nil && in != nil {
		s.Who, s.Forgery = who.DID.String(), in.Forgery
		keys, err := c.face.room.Passkeys(c.ctx(), who)
		if err != nil && failed == nil {
			failed = err
		}
		for i := range keys {
			at := time.UnixMilli(keys[i].Created).UTC().Format("2006-01-02")
			s.Keys = append(s.Keys, shownPasskey{base64.RawURLEncoding.EncodeToString(keys[i].ID), keys[i].Name, at})
		}
	}
	if failed != nil {
		e := refusal(failed)
		c.record("", e)
		s.Error, status = e.Message, c.statusOf(e)
	}
	c.html(status, "passkeys.html", s, s.Press != "")
}

// changePasskeys takes a form of the page: the first begins a change, and the second brings
// what the browser was asked.
func (c *call) changePasskeys() error {
	if err := c.face.origin.Check(c.r); err != nil {
		return errForged
	}
	form, err := url.ParseQuery(string(c.body))
	if err != nil {
		return invalid("the form is not read")
	}
	var s shownPasskeys
	who, err := c.owner(form)
	if err == nil {
		s, err = c.changedPasskeys(form, who)
	}
	c.showPasskeys(http.StatusOK, s, err)
	return nil
}

func (c *call) changedPasskeys(form url.Values, who visitors.Person) (s shownPasskeys, err error) {
	what, action := visitors.PasskeyChange{}, form.Get("action")
	switch action {
	case "add":
		what.Add = form.Get("name")
	case "remove":
		if what.Remove, err = base64.RawURLEncoding.DecodeString(form.Get("id")); err != nil {
			return s, invalid("this names no passkey")
		}
	case "look":
		return s, nil
	default:
		return s, invalid("press one of the buttons")
	}
	said := visitors.PasskeyAsked{Get: []byte(form.Get("passkey-get")), Create: []byte(form.Get("passkey-create"))}
	if len(said.Get) == 0 && len(said.Create) == 0 {
		asked, err := c.face.room.AskPasskeys(c.ctx(), who, what)
		if err != nil {
			return s, err
		}
		return shownPasskeys{Press: action, Add: what.Add, Remove: form.Get("id"), Get: string(asked.Get), Create: string(asked.Create)}, nil
	}
	if err := c.face.room.ChangePasskeys(c.ctx(), who, what, said); err != nil {
		return s, err
	}
	if action == "add" {
		return shownPasskeys{Done: "The passkey was made."}, nil
	}
	return shownPasskeys{Done: "The passkey was removed."}, nil
}
