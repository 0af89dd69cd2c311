// Package approvals has the operations by which persons answer what agents must
// ask: approval:list, show, approve and deny. [Operations] returns them over a
// [Service], which the venue has.
//
// A request is a resource of its own, approvals/<id>. Looking needs approval/read
// on it, answering approval/answer, and a person: no agent answers, whatever its
// capabilities are. Another person does so by delegation, for calls that they may make
// themselves.
package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"usher/caps"
	"usher/tools"
	"usher/ucan"
)

// Statuses of a [Request].
const (
	Pending  = "PENDING"
	Approved = "APPROVED"
	Denied   = "DENIED"
	Used     = "USED"
	Expired  = "EXPIRED" // nobody answered in time, or the answer was not used in time
	Ended    = "ENDED"   // its run is over: nobody needs an answer any more
)

// Request is a call that a person is asked about, as it is now. Times are
// milliseconds since 1970.
type Request struct {
	ID        string          `json:"id"`
	Status    string          `json:"status"`
	Owner     string          `json:"owner"`           // DID of the person who is asked
	Agent     string          `json:"agent,omitempty"` // that makes the call
	Via       []string        `json:"via,omitempty"`   // agents on whose behalf, the first caller first
	Run       string          `json:"run,omitempty"`   // that waits for the answer
	Session   string          `json:"session,omitempty"`
	Operation string          `json:"operation"`
	Input     json.RawMessage `json:"input"` // "[redacted]" where it is a secret
	Digest    string          `json:"digest"`
	Grants    string          `json:"grants,omitempty"` // "crud/write on w/a": the capability that is asked for, for as long as the run; empty where it is the call
	Needs     []string        `json:"needs"`            // "crud/write on w/a"
	Why       string          `json:"why"`              // a person is asked
	Created   int64           `json:"created"`
	Expires   int64           `json:"expires"` // the request, and later the answer
	Answer    *Answer         `json:"answer,omitempty"`
}

// Answer is what a person has said.
type Answer struct {
	By        string `json:"by"` // DID
	At        int64  `json:"at"` // ms
	Reason    string `json:"reason,omitempty"`
	Signature []byte `json:"signature,omitempty"` // Ed25519, by the key of By, of an approval

	// When are limits: the call is allowed within them, or where it is not, one that is
	// narrower, see [caps.Limits.Admit], which the same agent makes in the same run.
	When json.RawMessage `json:"when,omitempty"`
}

// Limits are those of the answer.
func (a *Answer) Limits() (caps.Limits, error) {
	if len(a.When) == 0 {
		return caps.Limits{}, nil
	}
	return caps.ParseLimits(a.When)
}

// Service keeps the requests of a venue. Every method acts on those of the owner
// whose namespace the resource is in.
type Service interface {
	List(ctx context.Context, call tools.Call, in Query) (Listing, error)
	Show(ctx context.Context, call tools.Call, in Ref) (Request, error)
	Approve(ctx context.Context, call tools.Call, in Yes) (Request, error)
	Deny(ctx context.Context, call tools.Call, in No) (Request, error)
}

// Query says which requests to list.
type Query struct {
	Of
	All    bool   `json:"all,omitempty" jsonschema:"those too that are answered or have expired"`
	Cursor string `json:"cursor,omitempty" jsonschema:"where the page begins, as the page before said"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many to list at most; left out, 100"`
}

// MaxPage is the most that one page has.
const MaxPage = 1000

// Listing is a page of requests, the oldest first.
type Listing struct {
	Requests []Request `json:"requests"`
	Cursor   string    `json:"cursor,omitempty"` // of the next page; empty when nothing follows
}

// Of says whose requests are meant.
type Of struct {
	Owner string `json:"owner,omitempty" jsonschema:"DID of the person who is asked, for whom you may do so by delegation; left out, yourself"`
}

// For is the person, for a caller.
func (o Of) For(caller ucan.DID) (ucan.DID, error) {
	if o.Owner == "" {
		return caller, nil
	}
	did, err := ucan.ParseDID(o.Owner)
	if err != nil {
		return did, fmt.Errorf("owner: %w", err)
	}
	return did, nil
}

// need is a requirement on what lies below approvals of the person.
func (o Of) need(can caps.Ability, below ...string) caps.Request {
	at, err := caps.ParseSegments(append([]string{"approvals"}, below...))
	if err != nil {
		return caps.Invalid(fmt.Errorf("id %q is no id of a request: %w", below, err))
	}
	if o.Owner != "" {
		there, err := caps.ParseResource(o.Owner + "/" + at.String())
		if err == nil && there.DID() == "" {
			err = fmt.Errorf("owner %q is no DID", o.Owner)
		}
		if err != nil {
			return caps.Invalid(err)
		}
		return caps.NeedOn(can, there)
	}
	return caps.NeedOn(can, at)
}

// Ref names a request.
type Ref struct {
	Of
	ID string `json:"id" jsonschema:"the request's id"`
}

// Yes allows a call once.
type Yes struct {
	Of
	ID     string `json:"id" jsonschema:"the request's id"`
	For    string `json:"for,omitempty" jsonschema:"how long the approval holds, for example 10m; left out, 24h"`
	Digest string `json:"digest,omitempty" jsonschema:"digest of the call that was looked at: another one is refused"`
	Reason string `json:"reason,omitempty" jsonschema:"what to tell"`

	Only []string        `json:"only,omitzero" jsonschema:"of the capabilities that an agent from elsewhere asks for, these alone: one at least"`
	When json.RawMessage `json:"when,omitempty" jsonschema:"limits on the call, by JSON pointer: {\"/amount\": {\"max\": 50}}. One that is beyond them is refused, and may be made once within them, with all else as it is. For an agent from elsewhere, limits on what it is granted: {\"/transfer/amount\": {\"max\": 50}}"`
}

// No refuses a call.
type No struct {
	Of
	ID     string `json:"id" jsonschema:"the request's id"`
	Reason string `json:"reason,omitempty" jsonschema:"what the agent is told"`
}

// errNothing: an empty list is nothing, and not all.
var errNothing = errors.New("only is empty: deny the request to give nothing, or leave only out to give all that is asked for")

// Life of an approval.
const (
	defaultLife = 24 * time.Hour
	maxLife     = 30 * 24 * time.Hour
)

// Operations returns the operations.
func Operations(s Service) []*tools.Operation {
	within := func(can string) tools.Option {
		return tools.Within(caps.ScopeUnder(can, "approvals", 1, 1), caps.ScopeForeign(can, "approvals", 1, 1))
	}
	return []*tools.Operation{
		tools.New("approval:list", "List the calls that wait for a person.",
			func(in Query) []caps.Request {
				if in.Limit < 0 || in.Limit > MaxPage {
					return []caps.Request{caps.Invalid(fmt.Errorf("limit is %d: give 1 to %d", in.Limit, MaxPage))}
				}
				return []caps.Request{in.need("approval/read")}
			}, s.List, tools.Within(caps.ScopeExactly("approval/read", "approvals"), caps.ScopeForeign("approval/read", "approvals", 0, 0)), tools.ReadOnly()),
		tools.New("approval:show", "Look at a call that waits for a person.",
			func(in Ref) []caps.Request { return in.on("approval/read", in.ID) }, s.Show, within("approval/read"), tools.ReadOnly()),
		tools.New("approval:approve", "Allow a call that waits, once. Only a person can.",
			func(in Yes) []caps.Request {
				_, err := in.Life()
				if err == nil && len(in.When) > 0 {
					if _, err = caps.ParseLimits(in.When); err != nil {
						err = fmt.Errorf("when: %w", err)
					}
				}
				if err == nil && in.Only != nil && len(in.Only) == 0 {
					err = errNothing
				}
				if err != nil {
					return []caps.Request{caps.Invalid(err)}
				}
				return in.on("approval/answer", in.ID)
			}, s.Approve, within("approval/answer"), tools.Exclusive()),
		tools.New("approval:deny", "Refuse a call that waits. Only a person can.",
			func(in No) []caps.Request { return in.on("approval/answer", in.ID) }, s.Deny, within("approval/answer"), tools.Exclusive()),
	}
}

// Life is how long the approval holds.
func (y Yes) Life() (time.Duration, error) {
	if y.For == "" {
		return defaultLife, nil
	}
	d, err := time.ParseDuration(y.For)
	if err != nil || d <= 0 || d > maxLife {
		return 0, fmt.Errorf("for is %q: give a duration up to %s, for example 10m", y.For, maxLife)
	}
	return d, nil
}

func (o Of) on(can caps.Ability, id string) []caps.Request {
	if id == "" {
		return []caps.Request{caps.Invalid(errors.New("id is missing: give the id of the request, as approval:list has it"))}
	}
	return []caps.Request{o.need(can, id)}
}
