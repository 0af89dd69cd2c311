package webhooks

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"usher/caps/value"
	"usher/tools"
	"usher/tools/fault"
	"usher/tools/reach"
	"usher/ucan"
	"usher/venue/store"
)

// Push is an address that is told of one run, as whoever follows that run named it.
type Push struct {
	ID   string // of the run's alone
	Run  string
	Form string // in which it is told: see [Pushes.Tell]
	Address
}

// Address is where a push goes, and with what. It is sealed where it is stored.
type Address struct {
	URL         string `json:"url"`
	Token       string `json:"token,omitempty"`       // by which the receiver knows it
	Scheme      string `json:"scheme,omitempty"`      // of the header Authorization
	Credentials string `json:"credentials,omitempty"` // of that scheme
}

// Bounds of pushes: of those of a user in person, and as many again of whoever comes as the
// user within bounds.
const (
	maxOfRun   = 8              // pushes
	maxOfOwner = 256            // pushes, of what is told to its end too where there is room
	maxOfOne   = maxOfOwner / 4 // of one who is bounded
	maxURL     = 2 << 10
	maxToken   = 1 << 10
	maxCred    = 8 << 10
)

// forms of what goes into a key, a header and a scheme (RFC 9110).
var (
	idForm     = value.Form(`^[A-Za-z0-9._~-]{1,64}$`)
	headerForm = value.Form(`^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$`)
	schemeForm = value.Form(`^[A-Za-z0-9!#$%&'*+.^_|~-]{1,32}$`)
)

func wrong(format string, args ...any) error {
	return fault.New(fault.InvalidInput, fmt.Sprintf(format, args...))
}

// check says what is wrong with a push. Whether an address is private is looked at again
// with each connection.
func (p *Pushes) check(ctx context.Context, in *Push) error {
	switch {
	case !idForm().MatchString(in.ID):
		return wrong("id is none of a push: give 1 to 64 letters, digits, and . _ ~ -")
	case len(in.URL) > maxURL:
		return wrong("url has %d bytes, at most %d", len(in.URL), maxURL)
	case len(in.Token) > maxToken || in.Token != "" && !headerForm().MatchString(in.Token):
		return wrong("token is none that a header takes: give 1 to %d printable characters of ASCII", maxToken)
	case len(in.Credentials) > maxCred || in.Credentials != "" && !headerForm().MatchString(in.Credentials):
		return wrong("credentials are none that a header takes: give 1 to %d printable characters of ASCII", maxCred)
	case in.Scheme != "" && !schemeForm().MatchString(in.Scheme), in.Scheme == "" && in.Credentials != "":
		return wrong("the scheme of the authentication is none, for example Bearer")
	}
	if err := reach.Check(ctx, in.URL, p.mayBePrivate(in.URL)); err != nil {
		return wrong("url: %v", err)
	}
	return nil
}

// mayBePrivate reports whether the configuration has the host of an URL.
func (p *Pushes) mayBePrivate(text string) bool {
	u, err := url.Parse(text)
	return err == nil && p.Private(reach.Host(u))
}

// pushRecord is a push as it is stored.
type pushRecord struct {
	ID        string          `json:"id"`
	Form      string          `json:"form"`
	Box       []byte          `json:"box"`             // the address, sealed
	Authority json.RawMessage `json:"authority"`       // sealed: whose it is
	Told      string          `json:"told,omitempty"`  // how the run stood when it was told of last
	Over      bool            `json:"over,omitempty"`  // there is nothing more to tell
	Tries     int             `json:"tries,omitempty"` // that failed
	Since     int64           `json:"since,omitempty"` // ms: the first of them
	Due       int64           `json:"due,omitempty"`   // ms: the next
}

const pushPrefix = "h/push/"

// PushesOf is below which keys of the whole store the pushes of a run lie: "<owner>/<id>".
func PushesOf(run string) string { return pushPrefix + run + "/" }

// pushesBy is below which keys those pushes of a run lie that auth's maker may know of: of a
// user in person all, and of whoever is bounded the own ones.
func pushesBy(auth tools.Authority, run string) string {
	all := PushesOf(auth.Owner().String() + "/" + run)
	if who := auth.Who(); who != "" {
		return all + who + "/"
	}
	return all
}

var errNoPush = fault.New(fault.NotFound, "there is no such push of the run")

// Check says why [Pushes.Set] would not take a push now, before there is a run to tell of.
func (p *Pushes) Check(ctx context.Context, auth tools.Authority, in Push) error {
	in.ID = cmp.Or(in.ID, "-")
	if err := p.check(ctx, &in); err != nil {
		return err
	}
	p.setting.Lock()
	defer p.setting.Unlock()
	return p.room(ctx, auth.Owner(), in.Run, pushesBy(auth, in.Run)+in.ID)
}

// Set has an address be told of a run of auth's owner, in place of the push of its id that
// auth's maker has set, as long as auth may look at the run.
func (p *Pushes) Set(ctx context.Context, auth tools.Authority, in Push) error {
	if err := p.check(ctx, &in); err != nil {
		return err
	}
	address, err := json.Marshal(in.Address)
	if err != nil {
		return err
	}
	key := pushesBy(auth, in.Run) + in.ID
	rec := pushRecord{ID: in.ID, Form: in.Form, Box: p.Sealer.Seal(key, address)}
	if rec.Authority, err = json.Marshal(auth); err != nil {
		return err
	}
	raw, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	p.setting.Lock()
	defer p.setting.Unlock()
	if err := p.room(ctx, auth.Owner(), in.Run, key); err != nil {
		return err
	}
	if _, err := p.Store.Apply(ctx, nil, map[string][]byte{key: raw}, nil); err != nil {
		return fmt.Errorf("store a push: %w", err)
	}
	p.add(auth.Owner(), in.Run)
	return nil
}

// makerOf is who has set the push of a key, as [tools.Authority.Who] has it.
func makerOf(key string) string {
	parts := strings.Split(strings.TrimPrefix(key, pushPrefix), "/") // owner, run, who or nobody, id
	if len(parts) < 4 {
		return ""
	}
	return parts[2]
}

// room reports whether one more has room, and drops what is told to its end where there is
// none. What others set in the owner's name leaves the owner's own room.
func (p *Pushes) room(ctx context.Context, owner ucan.DID, run, key string) error {
	all, ofRun, mine, maker := 0, 0, 0, makerOf(key)
	var over, ownOver []string
	for row, err := range store.Rows(ctx, p.Store, pushPrefix+owner.String()+"/", "") {
		if err != nil {
			return err
		}
		if row.Key == key {
			return nil
		}
		var rec pushRecord
		if err := json.Unmarshal(row.Value, &rec); err != nil {
			return fmt.Errorf("read push %s: %w", row.Key, err)
		}
		by := makerOf(row.Key)
		if (by == "") != (maker == "") {
			continue
		}
		if by == maker {
			mine++
		}
		if all++; strings.HasPrefix(row.Key, PushesOf(owner.String()+"/"+run)) {
			ofRun++
		} else if rec.Over {
			if over = append(over, row.Key); by == maker {
				ownOver = append(ownOver, row.Key)
			}
		}
	}
	if maker != "" && mine >= maxOfOne {
		if len(ownOver) == 0 {
			return fault.New(fault.LimitReached, fmt.Sprintf("you have %d push notifications, as many as one of those may who come as this principal within bounds: delete some", mine))
		}
		over, all = ownOver, maxOfOwner
	}
	switch {
	case ofRun >= maxOfRun:
		return fault.New(fault.LimitReached, fmt.Sprintf("the task has %d push notifications, as many as one may: delete some", ofRun))
	case all < maxOfOwner:
		return nil
	case len(over) == 0:
		return fault.New(fault.LimitReached, fmt.Sprintf("you have %d push notifications, as many as a principal may: delete some", all))
	}
	_, err := p.Store.Apply(ctx, nil, nil, over)
	return err
}

// List are the pushes of a run that auth's maker may know of, without what proves who tells
// of it.
func (p *Pushes) List(ctx context.Context, auth tools.Authority, run string) (list []Push, err error) {
	for row, err := range store.Rows(ctx, p.Store, pushesBy(auth, run), "") {
		if err != nil {
			return nil, err
		}
		in, _, err := p.open(row.Key, row.Value)
		if err != nil {
			return nil, err
		}
		in.Run, in.Token, in.Credentials = run, "", ""
		list = append(list, in)
	}
	return list, nil
}

// open reads a push.
func (p *Pushes) open(key string, raw []byte) (in Push, rec pushRecord, err error) {
	if err := json.Unmarshal(raw, &rec); err != nil {
		return in, rec, fmt.Errorf("read push %s: %w", key, err)
	}
	address, err := p.Sealer.Open(key, rec.Box)
	if err != nil {
		return in, rec, fmt.Errorf("open push %s: %w", key, err)
	}
	in.ID, in.Form = rec.ID, rec.Form
	return in, rec, json.Unmarshal(address, &in.Address)
}

// Remove ends the pushes of an id that auth's maker may know of. Where there is none the error
// is [fault.NotFound].
func (p *Pushes) Remove(ctx context.Context, auth tools.Authority, run, id string) error {
	var keys []string
	for row, err := range store.Rows(ctx, p.Store, pushesBy(auth, run), "") {
		if err != nil {
			return err
		}
		if strings.HasSuffix(row.Key, "/"+id) {
			keys = append(keys, row.Key)
		}
	}
	if len(keys) == 0 {
		return errNoPush
	}
	_, err := p.Store.Apply(ctx, nil, nil, keys)
	return err
}
