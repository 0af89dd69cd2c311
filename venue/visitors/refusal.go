package visitors

import (
	"errors"
	"fmt"
	"net/http"
)

// Refusal says why a request is refused, by a code of the protocol. Its text quotes nothing
// that is secret.
type Refusal struct {
	Code    Code
	Message string
	Extra   map[string]any // further members of the answer; nil for none
}

func (e *Refusal) Error() string { return e.Message }

// Code is a code of the protocol, with the status of an answer that has it.
type Code struct {
	Name   string
	Status int // of HTTP
}

// Codes of refusals.
var (
	InvalidRequest     = Code{"invalid_request", http.StatusBadRequest}
	invalidJWT         = Code{"invalid_jwt", http.StatusUnauthorized}
	replayed           = Code{"jti_replay", http.StatusUnauthorized}
	Unauthorized       = Code{"unauthorized", http.StatusBadRequest}
	RateLimited        = Code{"rate_limited", http.StatusTooManyRequests}
	Unavailable        = Code{"unavailable", http.StatusServiceUnavailable}
	unsupportedMode    = Code{"unsupported_mode", http.StatusBadRequest}
	unsupportedAlg     = Code{"unsupported_algorithm", http.StatusBadRequest}
	invalidKey         = Code{"invalid_public_key", http.StatusBadRequest}
	invalidCaps        = Code{"invalid_capabilities", http.StatusBadRequest}
	blockedCap         = Code{"capability_blocked", http.StatusBadRequest}
	CapNotFound        = Code{"capability_not_found", http.StatusNotFound}
	notGranted         = Code{"capability_not_granted", http.StatusForbidden}
	grantRevoked       = Code{"grant_revoked", http.StatusForbidden}
	CapDenied          = Code{"capability_denied", http.StatusForbidden}
	beyondLimits       = Code{"constraint_violated", http.StatusForbidden}
	unknownOperator    = Code{"unknown_constraint_operator", http.StatusBadRequest}
	LimitExceeded      = Code{"limit_exceeded", http.StatusTooManyRequests}
	alreadyGranted     = Code{"already_granted", http.StatusConflict}
	agentExists        = Code{"agent_exists", http.StatusConflict}
	AgentNotFound      = Code{"agent_not_found", http.StatusNotFound}
	agentRevoked       = Code{"agent_revoked", http.StatusForbidden}
	agentExpired       = Code{"agent_expired", http.StatusForbidden}
	agentPending       = Code{"agent_pending", http.StatusForbidden}
	agentRejected      = Code{"agent_rejected", http.StatusForbidden}
	AgentClaimed       = Code{"agent_claimed", http.StatusForbidden}
	lifetimeExceeded   = Code{"absolute_lifetime_exceeded", http.StatusForbidden}
	agentLimit         = Code{"agent_limit_reached", http.StatusBadRequest}
	HostNotFound       = Code{"host_not_found", http.StatusNotFound}
	hostRevoked        = Code{"host_revoked", http.StatusForbidden}
	hostLinked         = Code{"host_already_linked", http.StatusConflict}
	RequestNotFound    = Code{"capability_request_not_found", http.StatusNotFound}
	RequestResolved    = Code{"capability_request_already_resolved", http.StatusPreconditionFailed}
	requestOwner       = Code{"capability_request_owner_mismatch", http.StatusForbidden}
	freshSession       = Code{"fresh_session_required", http.StatusForbidden}
	InvalidUserCode    = Code{"invalid_user_code", http.StatusForbidden}
	approvalExpired    = Code{"approval_expired", http.StatusForbidden}
	slowDown           = Code{"slow_down", http.StatusTooManyRequests}
	bindingMismatch    = Code{"request_binding_mismatch", http.StatusUnauthorized}
	WebauthnRequired   = Code{"webauthn_required", http.StatusForbidden}
	WebauthnNone       = Code{"webauthn_not_enrolled", http.StatusForbidden}
	webauthnFailed     = Code{"webauthn_verification_failed", http.StatusForbidden}
	jobNotFound        = Code{"job_not_found", http.StatusNotFound}
	UnsupportedInBatch = Code{"batch_unsupported_result_type", http.StatusBadRequest}
	NotFound           = Code{"not_found", http.StatusNotFound}
	TooLarge           = Code{"too_large", http.StatusRequestEntityTooLarge}
	ApprovalRequired   = Code{"approval_required", http.StatusForbidden}
	Forged             = Code{"forged", http.StatusForbidden}
	Internal           = Code{"internal_error", http.StatusInternalServerError}
)

func refuse(code Code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Message: fmt.Sprintf(format, args...)}
}

// with adds a member to the answer.
func (e *Refusal) with(name string, member any) *Refusal {
	e.Extra = map[string]any{name: member}
	return e
}

// codeOf is the code of an error for the ledger.
func codeOf(err error) Code {
	if err == nil {
		return Code{"ok", http.StatusOK}
	}
	if of, ok := errors.AsType[*Refusal](err); ok {
		return of.Code
	}
	return Internal
}
