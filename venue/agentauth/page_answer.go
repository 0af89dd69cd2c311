package agentauth

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"usher/venue/face"
	"usher/venue/visitors"
)

// answerPage takes the form of the page.
func (c *call) answerPage() error {
	if err := c.face.origin.Check(c.r); err != nil {
		return errForged
	}
	form, err := url.ParseQuery(string(c.body))
	if err != nil {
		return invalid("the form is not read")
	}
	which := visitors.Which{Agent: form.Get("agent_id"), Code: form.Get("code"), Request: form.Get("request")}
	who, err := c.owner(form)
	if err != nil {
		c.show(c.statusOf(refusal(err)), which, "", nil, "", err)
		return nil
	}
	if form.Get("action") == "look" {
		c.show(http.StatusOK, which, "", form, "", nil)
		return nil
	}
	done, asked, err := c.takeAnswer(form, who, which)
	status := http.StatusOK
	if err != nil {
		e := refusal(err)
		status = c.statusOf(e)
		switch e.Code {
		case visitors.InvalidUserCode, visitors.RateLimited, visitors.RequestNotFound, visitors.RequestResolved: // a wrong code counts once
			form = nil
		}
	} else if asked == "" {
		form = nil
	}
	c.show(status, which, done, form, asked, err)
	return nil
}

// owner is the person whose browser sends a form of this page.
func (c *call) owner(form url.Values) (visitors.Person, error) {
	who, in, err := c.sessionPerson()
	switch {
	case err != nil:
		return who, err
	case in == nil:
		return who, errPerson
	case !in.MayChange(form.Get(face.ForgeryField)):
		return who, errForged
	}
	return who, nil
}

var errForged = &visitors.Refusal{Code: visitors.Forged, Message: face.ErrForged.Error()}

// takeAnswer takes the word of a person, and says what was done, or what their passkey is asked
// before it is.
func (c *call) takeAnswer(form url.Values, who visitors.Person, which visitors.Which) (done, asked string, err error) {
	if which, err = c.which(which.Agent, which.Code, which.Request); err != nil {
		return "", "", err
	}
	said, err := answerOf(form)
	if err != nil {
		return "", "", err
	}
	out, added, err := c.face.room.Answer(c.ctx(), who, which, said)
	if of, ok := errors.AsType[*visitors.Refusal](err); ok && of.Code == visitors.WebauthnRequired {
		ask, err := c.face.room.AskApproval(c.ctx(), who, which, said)
		return "", string(ask), err
	}
	switch {
	case err != nil:
		return "", "", err
	case !said.Approve:
		return "You have denied it.", "", nil
	case out.Agent.Status == visitors.Claimed:
		return "You have claimed it.", "", nil
	}
	return fmt.Sprintf("You have approved %d of %d.", len(added), out.Asked), "", nil
}

// answerOf reads the form.
func answerOf(form url.Values) (said visitors.Answer, err error) {
	switch form.Get("action") {
	case "deny":
		return said, nil
	case "approve":
		said.Approve = true
	default:
		return said, invalid("press one of the two buttons")
	}
	if ttl := form.Get("ttl"); ttl != "" && ttl != "0" {
		if !slices.ContainsFunc(times, func(t period) bool { return t.Seconds == ttl }) {
			return said, invalid("choose one of the times")
		}
		if said.Lasts, err = time.ParseDuration(ttl + "s"); err != nil {
			return said, err
		}
	}
	said.Passkey = json.RawMessage(form.Get("passkey-get"))
	said.Capabilities, said.Terms = map[string]visitors.Constraints{}, map[string]string{}
	for _, name := range form["allow"] {
		limits, err := visitors.ParseConstraints(json.RawMessage(strings.TrimSpace(form.Get("limit-" + name))))
		if err != nil {
			return said, err
		}
		said.Capabilities[name] = limits
		if form.Has("terms-" + name) {
			said.Terms[name] = form.Get("terms-" + name)
		}
	}
	return said, nil
}
