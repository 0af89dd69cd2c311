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

// passkeysView is what the page of passkeys says.
type passkeysView struct {
	Venue, Who, Error, Done, Forgery, SignIn string
	Keys                                     []passkeyView
	Press, Add, Remove                       string // what is begun
	Get, Create                              string // what the browser asks, as JSON
}

type passkeyView struct{ ID, Name, Created string }

// passkeys lists those of who has signed in.
func (c *call) passkeys() error {
	c.showPasskeys(http.StatusOK, passkeysView{}, nil)
	return nil
}

// showPasskeys writes the page with what was done, or what is begun.
func (c *call) showPasskeys(status int, s passkeysView, failed error) {
	s.Venue, s.SignIn = c.face.door.Venue.Name(), signInPath+"?to="+url.QueryEscape(passkeysPath)
	who, in, err := c.sessionPerson()
	if err == nil && in != nil {
		s.Who, s.Forgery = who.DID.String(), in.Forgery
		keys, err := c.face.room.Passkeys(c.ctx(), who)
		if err != nil && failed == nil {
			failed = err
		}
		for i := range keys {
			at := time.UnixMilli(keys[i].Created).UTC().Format("2006-01-02")
			s.Keys = append(s.Keys, passkeyView{base64.RawURLEncoding.EncodeToString(keys[i].ID), keys[i].Name, at})
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
	var s passkeysView
	who, err := c.owner(form)
	if err == nil {
		s, err = c.applyPasskeys(form, who)
	}
	c.showPasskeys(http.StatusOK, s, err)
	return nil
}

func (c *call) applyPasskeys(form url.Values, who visitors.Person) (s passkeysView, err error) {
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
	said := visitors.PasskeyOptions{Get: []byte(form.Get("passkey-get")), Create: []byte(form.Get("passkey-create"))}
	if len(said.Get) == 0 && len(said.Create) == 0 {
		asked, err := c.face.room.AskPasskeys(c.ctx(), who, what)
		if err != nil {
			return s, err
		}
		return passkeysView{Press: action, Add: what.Add, Remove: form.Get("id"), Get: string(asked.Get), Create: string(asked.Create)}, nil
	}
	if err := c.face.room.ChangePasskeys(c.ctx(), who, what, said); err != nil {
		return s, err
	}
	if action == "add" {
		return passkeysView{Done: "The passkey was made."}, nil
	}
	return passkeysView{Done: "The passkey was removed."}, nil
}
