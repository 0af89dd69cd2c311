package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"

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
	List     ucanListCmd     `cmd:"" help:"List the tokens that the user issued and received."`
	Import   ucanImportCmd   `cmd:"" help:"Take tokens and revocations from elsewhere into the venue."`
	Export   ucanExportCmd   `cmd:"" help:"Print a token with its chain and its revocations, for use elsewhere."`
	Whoami   ucanWhoamiCmd   `cmd:"" help:"Print the DID of the user, or of a key."`
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
		return fmt.Errorf("%s is there already, and a key is never overwritten: name another file with --out", c.Out)
	}
	if err != nil {
		return err
	}
	s.done("wrote %s, readable by you alone: whoever has it can sign as you, and nobody can make it again", c.Out)
	return s.printKey(key, c.Out, c.JSON)
}

func (s *streams) printKey(key ucan.Key, file string, asJSON bool) error {
	if asJSON {
		return s.printJSON(map[string]any{"did": key.DID(), "file": file})
	}
	fmt.Fprintln(s.out, key.DID())
	return nil
}
