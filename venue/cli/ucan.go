package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"usher/ucan"
)

type ucanCmd struct {
	Keygen   ucanKeygenCmd   `cmd:"" help:"Make a key and print the DID that it signs as."`
	Issue    ucanIssueCmd    `cmd:"" help:"Have the venue sign a token for something in your namespace."`
	Delegate ucanDelegateCmd `cmd:"" help:"Hand on authority, or less of it, with a key or in a venue."`
	Identity ucanIdentityCmd `cmd:"" help:"Make a token by which a key of yours calls a venue on a port."`
	Inspect  ucanInspectCmd  `cmd:"" help:"Draw the chain that tokens make, and say what is wrong with it."`
	Verify   ucanVerifyCmd   `cmd:"" help:"Decide whether tokens carry the authority for a request, offline."`
	Revoke   ucanRevokeCmd   `cmd:"" help:"Take a token back, and all that was made from it."`
	List     ucanListCmd     `cmd:"" reads:"" help:"List the tokens that the user issued and received."`
	Import   ucanImportCmd   `cmd:"" help:"Take tokens and revocations from elsewhere into the venue."`
	Export   ucanExportCmd   `cmd:"" reads:"" help:"Print a token with its chain and its revocations, for use elsewhere."`
	Whoami   ucanWhoamiCmd   `cmd:"" reads:"" help:"Print the DID of the user, or of a key."`
}

type ucanKeygenCmd struct {
	Out  string `default:"usher.key" placeholder:"FILE" help:"Where the secret goes (default: usher.key)."`
	JSON bool   `name:"json" help:"Print {did, file}."`
}

// Run makes a key file. The secret goes there and nowhere else.
func (c *ucanKeygenCmd) Run(_ context.Context, s *streams) error {
	key, err := ucan.NewKey(rand.Reader)
	if err != nil {
		return err
	}
	defer key.Zero()
	err = key.WriteFile(c.Out)
	if errors.Is(err, os.ErrExist) {
		return misusef("%s is there already, and a key is never overwritten: name another file with --out", c.Out)
	}
	if err != nil {
		return err
	}
	s.report("wrote %s, readable by you alone: whoever has it can sign as you, and nobody can make it again", c.Out)
	return s.printKey(key, c.Out, c.JSON)
}

func (s *streams) printKey(key ucan.Key, file string, asJSON bool) error {
	if asJSON {
		return s.printJSON(map[string]any{"did": key.DID(), "file": file})
	}
	fmt.Fprintln(s.out, key.DID())
	return nil
}

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
	s.report("whoever has it is %s at %s until %s", short(made.Issuer.String()), short(made.Audience.String()), stamp(made.Expires()))
	return nil
}
