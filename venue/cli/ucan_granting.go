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

// granting is what a new token is to say.
type granting struct {
	Audience string   `required:"" placeholder:"DID" help:"Who receives the authority."`
	Cap      []string `sep:"none" placeholder:"'ABILITY on RESOURCE'" help:"A capability, for example 'crud/read on w/shared'; repeat it for more."`
	Caps     string   `placeholder:"JSON|@FILE" help:"Capabilities as a list of {with, can}."`
	TTL      string   `name:"ttl" placeholder:"DURATION" help:"How long it lives: 90m, 24h, 30d (default: 24h, or as long as what it rests on)."`
	Expires  string   `placeholder:"RFC3339" help:"When it ends, instead of --ttl."`
}

// parse reads the flags; every error is a misuse.
func (g *granting) parse(now time.Time) (d ucan.Delegation, err error) {
	if d.Audience, err = didFlag("audience", g.Audience); err != nil {
		return d, err
	}
	for _, text := range g.Cap {
		c, err := parseCapability(text)
		if err != nil {
			return d, misusef("--cap: %w", err)
		}
		d.Capabilities = append(d.Capabilities, c)
	}
	if g.Caps != "" {
		text, err := argument(g.Caps)
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
	if len(d.Capabilities) == 0 {
		return d, misusef("there is no capability to hand on: say which with --cap, for example --cap 'crud/read on w/shared'")
	}
	switch {
	case g.TTL != "" && g.Expires != "":
		return d, misusef("--ttl and --expires say the same: give one of them")
	case g.Expires != "":
		if d.Expires, err = timeFlag("expires", g.Expires); err == nil && !d.Expires.After(now) {
			err = misusef("--expires %s is in the past", g.Expires)
		}
	case g.TTL != "":
		var ttl time.Duration
		ttl, err = parseTTL(g.TTL)
		d.Expires, d.Shorten = now.Add(ttl), delegation.Ticks
	default:
		d.Expires, d.Shorten = now.Add(delegation.DefaultLife), -1
	}
	return d, err
}

// parseTTL reads Go's durations, and days, which those lack.
func parseTTL(text string) (time.Duration, error) {
	ttl, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		if n, err = strconv.Atoi(days); err == nil && n > 36500 {
			err = strconv.ErrRange
		}
		ttl = time.Duration(n) * 24 * time.Hour
	}
	if err != nil {
		return 0, misusef("--ttl %q is not a duration: write 90m, 24h or 30d", text)
	}
	if ttl < time.Second {
		return 0, misusef("--ttl %s is too short: a token lives for a second at least", text)
	}
	return ttl, nil
}

// parseCapability reads a capability as people and denials write it.
func parseCapability(text string) (caps.Capability, error) {
	can, with, ok := strings.Cut(text, " on ")
	if !ok {
		return caps.Capability{}, fmt.Errorf("%q has no resource: write ABILITY on RESOURCE, for example 'crud/read on w/shared', or on (any) for the whole namespace", text)
	}
	if with = strings.TrimSpace(with); with == "(any)" {
		with = ""
	} else if with == "" {
		return caps.Capability{}, fmt.Errorf("%q has an empty resource: for the whole namespace write on (any)", text)
	}
	return caps.NewCapability(with, strings.TrimSpace(can))
}

func didFlag(name, text string) (ucan.DID, error) {
	d, err := ucan.ParseDID(text)
	if err != nil {
		return ucan.DID{}, misusef("--%s: %w", name, err)
	}
	return d, nil
}

func optionalDID(name, text string) (ucan.DID, error) {
	if text == "" {
		return ucan.DID{}, nil
	}
	return didFlag(name, text)
}

// rootFlags trusts each of some issuers to begin a chain in anybody's namespace.
func rootFlags(texts []string) (func(owner, issuer ucan.DID) bool, error) {
	roots := make([]ucan.DID, len(texts))
	for i, text := range texts {
		var err error
		if roots[i], err = didFlag("root", text); err != nil {
			return nil, err
		}
	}
	return func(_, issuer ucan.DID) bool { return slices.Contains(roots, issuer) }, nil
}

func timeFlag(name, text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, misusef("--%s %q is not a time in RFC 3339: write 2026-12-31T18:00:00Z", name, text)
	}
	return t, nil
}

// nowOr is the time that --at names, or the clock's.
func nowOr(at string) (time.Time, error) {
	if at == "" {
		return time.Now(), nil
	}
	return timeFlag("at", at)
}
