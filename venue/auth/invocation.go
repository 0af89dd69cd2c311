package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"usher/caps"
	"usher/ucan"
)

// invocation reads a UCAN invocation (UCAN 1.0): who signed it calls, once, and may do what it
// invokes alone, of what is theirs and what was delegated to them. args.with is the resource; an
// invocation without one is for all that the subject owns.
func (r *Room) invocation(ctx context.Context, token string) (*Identity, error) {
	inv, err := ucan.OpenInvocationText(token)
	if err != nil {
		return nil, &Refusal{"it is neither a JWT nor a UCAN invocation", err}
	}
	valid := func(context.Context) error {
		if err := r.Verifier.Current(inv); err != nil {
			return &Refusal{"the invocation does not hold", err}
		}
		return nil
	}
	if err := valid(ctx); err != nil {
		return nil, err
	}
	may, err := capabilityOf(inv)
	if err != nil {
		return nil, &Refusal{"its args.with is no resource", err}
	}
	once := r.once(inv.Issuer, inv.CID.String(), inv.Expires(), "the invocation was used before: sign a new one for each request")
	auth := r.principal(inv.Issuer).Narrow(caps.Of(may).In(inv.Issuer.String()))
	return r.admit(&Identity{Authority: auth, Kind: invocation, Expires: inv.Expires(), Valid: valid, once: once})
}

// capabilityOf is the one capability that an invocation uses.
func capabilityOf(inv *ucan.Invocation) (caps.Capability, error) {
	arg, ok := inv.Args["with"]
	if !ok {
		return caps.NewCapability(inv.Subject.String()+"/", string(inv.Can))
	}
	with, ok := arg.(string)
	if !ok {
		return caps.Capability{}, errors.New("it is no text")
	}
	c, err := caps.NewCapability(with, string(inv.Can))
	if err == nil && c.Resource().DID() == "" && !strings.Contains(with, "://") {
		err = fmt.Errorf("%q does not say whose it is: write it with the owner's DID before it", with)
	}
	return c, err
}
