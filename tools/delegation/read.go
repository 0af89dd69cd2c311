package delegation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"usher/caps"
	"usher/tools"
	"usher/ucan"
)

type importInput struct {
	Tokens []string `json:"tokens" jsonschema:"JWTs, or UCAN 1.0 delegations and revocations in multibase"`
}

type importOutput struct {
	CIDs    []string `json:"cids"`              // of the tokens
	Revoked []string `json:"revoked,omitempty"` // CIDs of the tokens that the revocations end
	Aside   []Aside  `json:"aside,omitempty"`
}

type exportInput struct {
	CID string `json:"cid" jsonschema:"the token"`
}

type exportOutput struct {
	Tokens []string `json:"tokens"`
}

type whoamiOutput struct {
	DID   ucan.DID `json:"did"`
	Venue ucan.DID `json:"venue"`
	Agent string   `json:"agent,omitempty"`
}

type verifyInput struct {
	Tokens []string `json:"tokens,omitempty" jsonschema:"the chain; left out, the venue's store is searched"`
	Caller string   `json:"caller" jsonschema:"DID of who would act"`
	Can    string   `json:"can" jsonschema:"ability"`
	With   string   `json:"with" jsonschema:"resource, with its owner's DID or in your own namespace"`
	At     string   `json:"at,omitempty" jsonschema:"RFC 3339; left out, now"`
}

type listInput struct {
	Received bool `json:"received,omitempty" jsonschema:"only tokens made out to you"`
	Issued   bool `json:"issued,omitempty" jsonschema:"only tokens issued by you"`
}

type listOutput struct {
	Tokens []Token `json:"tokens"`
}

// maxTokens bounds what one call may bring.
const maxTokens = 64

// brought is what the texts of a call hold.
type brought struct {
	links       []*ucan.Link
	revocations []*ucan.Revocation
	aside       []Aside
	first       error // why the first of those aside is
	wrong       error // of the first that is understood, and forged or contradicts itself
}

func openAll(texts []string) (b brought, err error) {
	if len(texts) > maxTokens {
		return b, fmt.Errorf("%d tokens in one call: send at most %d", len(texts), maxTokens)
	}
	for i, text := range texts {
		link, err := ucan.OpenText(text)
		if err == nil {
			b.links = append(b.links, link)
			continue
		}
		if revocation, other := ucan.OpenRevocationText(text); other == nil {
			b.revocations = append(b.revocations, revocation)
			continue
		}
		b.aside = append(b.aside, Aside{i, err.Error()})
		if b.first == nil {
			b.first = fmt.Errorf("tokens[%d]: %w", i, err)
		}
		if _, wrong := errors.AsType[*ucan.VerifyError](err); wrong && b.wrong == nil {
			b.wrong = fmt.Errorf("tokens[%d]: %w", i, err)
		}
	}
	return b, nil
}

func read(s Service) []*tools.Operation {
	return []*tools.Operation{
		tools.New("ucan:import", "Store tokens that came from elsewhere, so that calls can rest on them.",
			func(importInput) []caps.Request { return []caps.Request{caps.NeedAbility(canDelegate)} },
			func(ctx context.Context, call tools.Call, in importInput) (importOutput, error) {
				if len(in.Tokens) == 0 {
					return importOutput{}, errors.New("tokens is empty: give at least one")
				}
				b, err := openAll(in.Tokens)
				if err != nil {
					return importOutput{}, err
				}
				if len(b.aside) == len(in.Tokens) {
					return importOutput{}, b.first
				}
				out := importOutput{CIDs: make([]string, len(b.links)), Aside: b.aside}
				for i, l := range b.links {
					out.CIDs[i] = l.CID().String()
				}
				for _, r := range b.revocations {
					out.Revoked = append(out.Revoked, r.Target().String())
				}
				return out, s.Import(ctx, call, b.links, b.revocations)
			}, tools.Within(caps.ScopeAbility(canDelegate)), tools.Idempotent(), tools.Exclusive()),

		tools.New("ucan:verify", "Say whether tokens carry an authority, and by which chain.",
			func(verifyInput) []caps.Request { return []caps.Request{caps.NeedAbility(CanRead)} },
			func(ctx context.Context, call tools.Call, in verifyInput) (Verdict, error) {
				return verify(ctx, s, call, in)
			},
			tools.Within(caps.ScopeAbility(CanRead)), tools.ReadOnly()),

		tools.New("ucan:export", "Give out a token with the chain that carries it, and the revocations in it, for use elsewhere.",
			func(in exportInput) []caps.Request { return needCID(in.CID, CanRead) },
			func(ctx context.Context, call tools.Call, in exportInput) (exportOutput, error) {
				cid, err := parseCID(in.CID)
				if err != nil {
					return exportOutput{}, err
				}
				texts, err := s.Export(ctx, call, cid)
				return exportOutput{texts}, err
			}, tools.Within(caps.ScopeAbility(CanRead)), tools.ReadOnly()),

		tools.New("ucan:whoami", "Say who you are: the DID that you act as, and that of the venue.",
			func(struct{}) []caps.Request { return []caps.Request{caps.NeedAbility(CanRead)} },
			func(_ context.Context, call tools.Call, _ struct{}) (whoamiOutput, error) {
				return whoamiOutput{call.Owner(), s.Venue(), call.Actor()}, nil
			}, tools.Within(caps.ScopeAbility(CanRead)), tools.ReadOnly()),

		tools.New("ucan:list", "List the tokens that you received and issued.",
			func(listInput) []caps.Request { return []caps.Request{caps.NeedAbility(CanRead)} },
			func(ctx context.Context, call tools.Call, in listInput) (listOutput, error) {
				both := in.Received == in.Issued
				list, err := s.List(ctx, call, in.Received || both, in.Issued || both)
				if list == nil {
					list = []Token{}
				}
				return listOutput{list}, err
			}, tools.Within(caps.ScopeAbility(CanRead)), tools.ReadOnly()),
	}
}

// verify answers what the walker decides. That a token cannot be read is a
// verdict too; that the question cannot be is an error.
func verify(ctx context.Context, s Service, call tools.Call, in verifyInput) (Verdict, error) {
	deny := func(err error) (Verdict, error) {
		return Verdict{Decision: tools.Denied, Reason: err.Error(), Chain: []Token{}}, nil
	}
	q := Question{Need: caps.Need(in.Can, in.With)}
	if err := q.Need.Err(); err != nil {
		return Verdict{}, err
	}
	var err error
	if q.Caller, err = ucan.ParseDID(in.Caller); err != nil {
		return Verdict{}, fmt.Errorf("caller: %w", err)
	}
	if in.At != "" {
		if q.At, err = parseTime("at", in.At); err != nil {
			return Verdict{}, err
		}
	}
	b, err := openAll(in.Tokens)
	if err != nil {
		return deny(err)
	}
	if b.wrong != nil {
		return deny(b.wrong)
	}
	if b.first != nil && len(b.links) == 0 {
		return deny(b.first)
	}
	q.Tokens = b.links
	grant, links, err := s.Verify(ctx, call, q)
	if err != nil {
		v, err := deny(err)
		v.Aside = b.aside
		return v, err
	}
	v := Verdict{Decision: tools.Allowed, Reason: allowedBy(grant, links), Chain: []Token{}, Aside: b.aside}
	for _, l := range links {
		v.Chain = append(v.Chain, Describe(l, false))
	}
	return v, nil
}

func allowedBy(g ucan.Grant, links []*ucan.Link) string {
	if len(links) == 0 {
		return "the caller owns the resource"
	}
	by, _ := g.By()
	text := fmt.Sprintf("%s, by a chain of %d from %s", by, len(links), g.Root())
	if exp, ok := g.Expires(); ok {
		text += ", until " + exp.Format(time.RFC3339)
	}
	return text
}
