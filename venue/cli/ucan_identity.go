package cli

import (
	"context"
	"crypto/rand"
	"time"

	"usher/ucan"
)

type ucanIdentityCmd struct {
	Key  string   `required:"" placeholder:"FILE" help:"The key that says who you are."`
	For  ucan.DID `required:"" placeholder:"DID" help:"The venue that it is for: the id in its /.well-known/did.json. Nobody else takes it."`
	TTL  ttlFlag  `name:"ttl" default:"1h" placeholder:"DURATION" help:"How long it holds: 10m, 1h, 24h, which is what a venue takes at most unless it says more. Default: ${default}."`
	JSON bool     `name:"json" help:"Print as JSON."`
}

func (*ucanIdentityCmd) Help() string {
	return "It is a bearer token that grants nothing: whoever has it speaks as the key at that venue until it ends, so give it to nobody else. curl -H \"Authorization: Bearer TOKEN\" URL/api/v1/me says who that is there."
}

// Run signs offline.
func (c *ucanIdentityCmd) Run(_ context.Context, s *streams) error {
	key, err := ucan.ReadKeyFile(c.Key)
	if err != nil {
		return misuse{err}
	}
	defer key.Zero()
	is := ucan.Issuer{Key: key, Rand: rand.Reader, Verifier: new(ucan.Verifier)}
	made, err := is.Identity(c.For, time.Now().Add(time.Duration(c.TTL)))
	if err != nil {
		return err
	}
	if c.JSON {
		return s.printJSON(map[string]any{"token": made.Text(), "issuer": made.Issuer, "audience": made.Audience, "expires": stamp(made.Expires())})
	}
	s.lines("", []string{made.Text()})
	s.done("whoever has it is %s at %s until %s", short(made.Issuer.String()), short(made.Audience.String()), stamp(made.Expires()))
	return nil
}
