package visitors

import (
	"errors"
	"fmt"
)

// Refusal says why a request is refused, by a code of the protocol. Its text quotes nothing
// that is secret.
type Refusal struct {
	Code    string
	Message string
	Extra   map[string]any // further members of the answer; nil for none
}

func (e *Refusal) Error() string { return e.Message }

// Codes of refusals.
const (
	InvalidRequest     = "invalid_request"
	InvalidJWT         = "invalid_jwt"
	Replay             = "jti_replay"
	Unauthorized       = "unauthorized"
	RateLimited        = "rate_limited"
	Unavailable        = "unavailable"
	UnsupportedMode    = "unsupported_mode"
	UnsupportedAlg     = "unsupported_algorithm"
	InvalidKey         = "invalid_public_key"
	InvalidCaps        = "invalid_capabilities"
	BlockedCap         = "capability_blocked"
	CapNotFound        = "capability_not_found"
	NotGranted         = "capability_not_granted"
	GrantRevoked       = "grant_revoked"
	CapDenied          = "capability_denied"
	Violated           = "constraint_violated"
	UnknownOperator    = "unknown_constraint_operator"
	LimitExceeded      = "limit_exceeded"
	AlreadyGranted     = "already_granted"
	AgentExists        = "agent_exists"
	AgentNotFound      = "agent_not_found"
	AgentRevoked       = "agent_revoked"
	AgentExpired       = "agent_expired"
	AgentPending       = "agent_pending"
	AgentRejected      = "agent_rejected"
	AgentClaimed       = "agent_claimed"
	LifetimeExceeded   = "absolute_lifetime_exceeded"
	AgentLimit         = "agent_limit_reached"
	HostNotFound       = "host_not_found"
	HostRevoked        = "host_revoked"
	HostPending        = "host_pending"
	HostLinked         = "host_already_linked"
	RequestNotFound    = "capability_request_not_found"
	RequestResolved    = "capability_request_already_resolved"
	RequestOwner       = "capability_request_owner_mismatch"
	FreshSession       = "fresh_session_required"
	InvalidUserCode    = "invalid_user_code"
	ApprovalExpired    = "approval_expired"
	SlowDown           = "slow_down"
	BindingMismatch    = "request_binding_mismatch"
	WebauthnRequired   = "webauthn_required"
	WebauthnNone       = "webauthn_not_enrolled"
	WebauthnFailed     = "webauthn_verification_failed"
	JobNotFound        = "job_not_found"
	UnsupportedInBatch = "batch_unsupported_result_type"
)

func refuse(code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Message: fmt.Sprintf(format, args...)}
}

// with adds a member to the answer.
func (e *Refusal) with(name string, member any) *Refusal {
	e.Extra = map[string]any{name: member}
	return e
}

// codeOf is the code of an error for the ledger.
func codeOf(err error) string {
	if err == nil {
		return "ok"
	}
	if of, ok := errors.AsType[*Refusal](err); ok {
		return of.Code
	}
	return "internal_error"
}
