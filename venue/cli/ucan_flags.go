package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"usher/caps"
	"usher/tools/delegation"
	"usher/ucan"
)

// grantDraft is what a new token is to say.
type grantDraft struct {
	Audience ucan.DID  `required:"" placeholder:"DID" help:"Who receives the authority."`
	Cap      []capFlag `sep:"none" placeholder:"'ABILITY on RESOURCE'" help:"A capability, for example 'crud/read on w/shared'; repeat it for more."`
	Caps     string    `placeholder:"JSON|@FILE" help:"Capabilities as a list of {with, can}."`
	TTL      ttlFlag   `name:"ttl" placeholder:"DURATION" help:"How long it lives: 90m, 24h, 30d (default: 24h, or as long as what it rests on)."`
	Expires  *timeFlag `placeholder:"RFC3339" help:"When it ends, instead of --ttl."`
}

// parse reads the flags together, as of now, with files from p; every error is a misuse.
func (g *grantDraft) parse(p place, now time.Time) (d ucan.Delegation, err error) {
	d.Audience = g.Audience
	for _, c := range g.Cap {
		d.Capabilities = append(d.Capabilities, c.Capability)
	}
	if g.Caps != "" {
		text, err := p.argument(g.Caps)
		if err != nil {
			return d, err
		}
		set, err := caps.ParseSet(bytes.TrimSpace([]byte(text)))
		if err != nil {
			return d, misusef("--caps: %w", err)
		}
		if set.IsUnrestricted() {
			return d, misusef(`--caps: null means no restriction, and a token has to say what it gives; for a whole namespace write [{"with":"","can":"*"}]`)
		}
		d.Capabilities = slices.AppendSeq(d.Capabilities, set.All())
	}
	switch {
	case len(d.Capabilities) == 0:
		err = misusef("there is no capability to hand on: say which with --cap, for example --cap 'crud/read on w/shared'")
	case g.TTL != 0 && g.Expires != nil:
		err = misusef("--ttl and --expires say the same: give one of them")
	case g.Expires != nil && !g.Expires.After(now):
		err = misusef("--expires %s is in the past", stamp(g.Expires.Time))
	case g.Expires != nil:
		d.Expires = g.Expires.Time
	case g.TTL != 0:
		d.Expires, d.Shorten = now.Add(time.Duration(g.TTL)), delegation.Ticks
	default:
		d.Expires, d.Shorten = now.Add(delegation.DefaultLife), -1
	}
	return d, err
}

// ttlFlag takes Go's durations, and days, which those lack.
type ttlFlag time.Duration

func (f *ttlFlag) UnmarshalText(text []byte) error {
	ttl, err := time.ParseDuration(string(text))
	if days, ok := strings.CutSuffix(string(text), "d"); ok {
		var n int
		if n, err = strconv.Atoi(days); err == nil && n > 36500 {
			err = strconv.ErrRange
		}
		ttl = time.Duration(n) * 24 * time.Hour
	}
	if err != nil {
		return fmt.Errorf("%q is not a duration: write 90m, 24h or 30d", text)
	}
	if ttl < time.Second {
		return fmt.Errorf("%s is too short: a token lives for a second at least", text)
	}
	*f = ttlFlag(ttl)
	return nil
}

// capFlag takes a capability as people and denials write it.
type capFlag struct{ caps.Capability }

func (f *capFlag) UnmarshalText(text []byte) (err error) {
	can, with, ok := strings.Cut(string(text), " on ")
	if !ok {
		return fmt.Errorf("%q has no resource: write ABILITY on RESOURCE, for example 'crud/read on w/shared', or on (any) for the whole namespace", text)
	}
	if with = strings.TrimSpace(with); with == "(any)" {
		with = ""
	} else if with == "" {
		return fmt.Errorf("%q has an empty resource: for the whole namespace write on (any)", text)
	}
	f.Capability, err = caps.NewCapability(with, strings.TrimSpace(can))
	return err
}

type timeFlag struct{ time.Time }

func (f *timeFlag) UnmarshalText(text []byte) (err error) {
	if f.Time, err = time.Parse(time.RFC3339, string(text)); err != nil {
		return fmt.Errorf("%q is not a time in RFC 3339: write 2026-12-31T18:00:00Z", text)
	}
	return nil
}

// clock is the time that --at names, or else the clock's.
func (f *timeFlag) clock() func() time.Time {
	if f == nil {
		return time.Now
	}
	return func() time.Time { return f.Time }
}

// trustRoots lets each of some issuers begin a chain in anybody's namespace.
func trustRoots(roots []ucan.DID) func(owner, issuer ucan.DID) bool {
	return func(_, issuer ucan.DID) bool { return slices.Contains(roots, issuer) }
}
