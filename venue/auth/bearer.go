package auth

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"usher/ucan"
)

// bearer names what somebody came with, for what lasts longer than a request: see
// [Room.Stands]. It is no secret, and proves nothing.
func (id *Identity) bearer() string {
	if id.Kind == anonymous {
		return ""
	}
	end, of := int64(0), ""
	if !id.Expires.IsZero() {
		end = id.Expires.Unix()
	}
	switch {
	case id.row != "":
		of = " " + id.row + " " + id.number
	case !id.cid.IsZero():
		of = " " + id.cid.String()
	}
	return fmt.Sprintf("%s %d%s", id.Kind, end, of)
}

// Stands says why the token or the session by which a principal came is none any more, as
// [Identity.Valid] does while a request is answered: bearer is [tools.Authority.Bearer] of its
// calls. Who came by none stands.
func (r *Room) Stands(ctx context.Context, owner ucan.DID, bearer string) error {
	if bearer == "" {
		return nil
	}
	kind, rest, _ := strings.Cut(bearer, " ")
	until, of, _ := strings.Cut(rest, " ")
	end, err := strconv.ParseInt(until, 10, 64)
	if err != nil {
		return refuse("what is known of it is not read")
	}
	if now := r.Now(); end != 0 && now.Unix() > end {
		return refuse("it expired at %s: sign or fetch a new one", time.Unix(end, 0).UTC().Format(time.RFC3339))
	}
	switch at := strings.LastIndexByte(of, ' '); {
	case at >= 0 && strings.HasPrefix(of, sessionPrefix):
		_, err = r.session(ctx, of[:at], end)
	case at >= 0:
		_, _, err = r.listRow(ctx, of[:at], of[at+1:])
	case proof(kind) == idToken && of != "":
		err = r.checkRevocation(ctx, owner, of)
	}
	return err
}

// checkRevocation reports whether the UCAN of a CID was revoked by its issuer.
func (r *Room) checkRevocation(ctx context.Context, issuer ucan.DID, text string) error {
	cid, err := ucan.ParseCID(text)
	if err != nil {
		return err
	}
	list, err := r.Verifier.Store.Revocations(ctx, cid)
	if slices.ContainsFunc(list, func(rv *ucan.Revocation) bool { return rv.Issuer == issuer }) {
		return refuse("the identity token was revoked")
	}
	return err
}
