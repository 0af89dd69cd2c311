package visitors

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"io"
	"strings"
	"time"

	asking "usher/tools/approvals"
	"usher/tools/fault"
	"usher/venue/approvals"
)

// Methods of approval.
const (
	deviceMethod = "device_authorization"
	cibaMethod   = "ciba"
	ownMethod    = "usher_approvals" // the person finds it among what waits for them
)

// Methods are those that a host may prefer. But for the first, they are for a person who is
// known: whom the host acts for.
var Methods = []string{deviceMethod, cibaMethod, ownMethod}

// Bounds of what waits for a person.
const (
	askLife  = 5 * time.Minute
	ownLife  = 24 * time.Hour  // of ownMethod
	interval = 5 * time.Second // between two polls
	maxWrong = 5               // codes
)

// letters are those of user codes: none is easily taken for another. There are 32, so that
// each is as likely.
const letters = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"

const codeLetters = 8

// Approval is how a person is asked, as a host is told.
type Approval struct {
	Method         string `json:"method"`
	DeviceCode     string `json:"device_code,omitempty"`
	VerificationAt string `json:"verification_uri,omitempty"`
	VerifyWhole    string `json:"verification_uri_complete,omitempty"`
	UserCode       string `json:"user_code,omitempty"`
	ExpiresIn      int64  `json:"expires_in"` // s
	Interval       int64  `json:"interval"`   // s
	BindingMessage string `json:"binding_message,omitempty"`
}

// newCode returns a user code, "ABCD-EFGH".
func (r *Room) newCode() (string, error) {
	raw := make([]byte, codeLetters)
	if _, err := io.ReadFull(r.Rand, raw); err != nil {
		return "", err
	}
	for i, b := range raw {
		raw[i] = letters[int(b)%len(letters)]
	}
	return string(raw[:codeLetters/2]) + "-" + string(raw[codeLetters/2:]), nil
}

// plainCode is a user code without what people add to it.
func plainCode(code string) string {
	return strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(code))
}

// digest is what is kept of a code.
func (r *Room) digest(kind, code string) string {
	mac := hmac.New(sha256.New, r.Key)
	mac.Write([]byte(kind + "\x00" + code))
	return hex.EncodeToString(mac.Sum(nil))
}

// isCode reports whether a user code is the one that is kept, in constant time.
func (r *Room) isCode(a *ask, code string) bool {
	return a.Code != "" && subtle.ConstantTimeCompare([]byte(a.Code), []byte(r.digest("user", plainCode(code)))) == 1
}

var errFull = refuse(LimitExceeded, "as many requests wait for the person of the host as may: try again once some are answered")

// ask has an agent wait for a person, in the place of what it waited for: the codes of that
// are dead. The change takes the marks of the codes with it. A person who is known has it
// among their approvals, where not too much waits there for a code to do.
func (r *Room) ask(ctx context.Context, c *change, a *Agent, h *Host, ask ask) (*Approval, error) {
	now, life := r.Now(), askLife
	if ask.Method == ownMethod {
		life = ownLife
	}
	ask.Created, ask.Expires, ask.Request, ask.Code, ask.Device = now.UnixMilli(), now.Add(life).UnixMilli(), "", "", ""
	ask.Terms = r.set.Load().terms(a.Grants)
	said := &Approval{Method: ask.Method, ExpiresIn: int64(life / time.Second), Interval: int64(interval / time.Second), BindingMessage: ask.Says}
	var filed *approvals.Filing
	if !ask.Asked.IsZero() {
		switch err := r.rates.ask(h.ID, now); {
		case err == nil:
			filed = r.filing(a, h, &ask)
		case ask.Method != deviceMethod:
			return nil, err
		}
	}
	s := approvals.Swap{As: asking.Ended, File: filed, Owner: ask.Asked}
	err := r.swap(ctx, c, a, s, &ask)
	if filed != nil && fault.Of(err) == fault.Refused { // no more may wait there
		if ask.Method != deviceMethod {
			return nil, errFull
		}
		s.File = nil
		err = r.swap(ctx, c, a, s, &ask)
	}
	if err != nil {
		return nil, err
	}
	if ask.Method == deviceMethod {
		if said.UserCode, err = r.newCode(); err != nil {
			return nil, err
		}
		raw := make([]byte, 32)
		if _, err := io.ReadFull(r.Rand, raw); err != nil {
			return nil, err
		}
		said.DeviceCode = b64.EncodeToString(raw)
		ask.Code, ask.Device = r.digest("user", plainCode(said.UserCode)), r.digest("device", said.DeviceCode)
		c.set(codeKey(ask.Code), 0, []byte(a.ID))
	}
	a.Ask = &ask
	return said, nil
}

// forget ends what an agent waits for.
func (r *Room) forget(ctx context.Context, c *change, a *Agent) error {
	return r.swap(ctx, c, a, approvals.Swap{As: asking.Ended}, nil)
}

// isOver reports whether what an agent waits for can be answered no more.
func (r *Room) isOver(ask *ask) bool {
	return ask.Wrong >= maxWrong || r.Now().UnixMilli() > ask.Expires
}
