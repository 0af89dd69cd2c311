package ucan

import (
	"errors"
	"fmt"
)

// Why a token is not a token. Reading refuses with one of these, wrapped in a
// sentence that says what to change.
var (
	ErrMalformed    = errors.New("malformed token")
	ErrNotCanonical = errors.New("token is not encoded canonically")
	ErrTooLarge     = errors.New("token is too large")
	ErrTooDeep      = errors.New("proof chain is too deep")
	ErrAlgorithm    = errors.New("signature algorithm is not EdDSA with Ed25519")
	ErrKeyID        = errors.New("kid is not the issuer's key")
	ErrVersion      = errors.New("token version is not supported")
	ErrSignature    = errors.New("signature does not verify")
	ErrPowerline    = errors.New("delegation names no subject")
)

// Why a chain of tokens does not carry the authority that is asked for.
// [Verifier.Authorize] returns exactly one of these, inside a [VerifyError].
var (
	ErrAudience        = errors.New("token is made out to somebody else")
	ErrBrokenChain     = errors.New("proof chain is broken: the issuer is not the audience of a proof")
	ErrSubject         = errors.New("proof chain changes its subject")
	ErrForeignRoot     = errors.New("proof chain does not begin with the owner of the resource")
	ErrBareResource    = errors.New("resource without an owner; write did:key:…/path")
	ErrWidenedResource = errors.New("delegation is wider than its proof in the resource")
	ErrWidenedAbility  = errors.New("delegation is wider than its proof in the ability")
	ErrTimeBounds      = errors.New("delegation lives longer than its proof")
	ErrNotCovered      = errors.New("token does not cover the request")
	ErrPolicy          = errors.New("a policy of the delegation is not satisfied")
	ErrExpired         = errors.New("token has expired")
	ErrNotYetValid     = errors.New("token is not valid yet")
	ErrLifetime        = errors.New("token lives longer than is allowed here")
	ErrMissingProof    = errors.New("a proof is missing")
	ErrBudget          = errors.New("proof search was cut short; name the proofs")
	ErrAgent           = errors.New("the agent that signed the token does not hold what is asked for")
	ErrRevoked         = errors.New("token is revoked")
	errMayNotRevoke    = errors.New("only who issued the token, or stands above it in its chain, can revoke it")
	ErrReplayed        = errors.New("invocation was used before")
	ErrNotHeld         = errors.New("delegation is wider than what the issuer holds")
	ErrUnusedProofs    = errors.New("nothing that is handed on rests on the proofs that were named")
	ErrRequest         = errors.New("request is not valid")
)

var errNoStore = errors.New("verifier has no store")

// VerifyError says which token of a chain was refused and why. It unwraps to one
// of the sentinels above, and to the cause where there is one.
type VerifyError struct {
	Err    error  // the sentinel
	CID    CID    // the token; zero when no single one is to blame
	Detail string // what was found, in words; may be empty
	Cause  error  // what lies beneath; may be nil
}

// Error is one line: the reason, the detail, the token.
func (e *VerifyError) Error() string {
	text := e.Err.Error()
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	if !e.CID.IsZero() {
		text += " (token " + e.CID.String() + ")"
	}
	return text
}

// Unwrap gives the sentinel and the cause to errors.Is and errors.As.
func (e *VerifyError) Unwrap() []error {
	if e.Cause != nil {
		return []error{e.Err, e.Cause}
	}
	return []error{e.Err}
}

func formatError(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
}
