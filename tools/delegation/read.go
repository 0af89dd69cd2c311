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
	Tokens []string `json:"tokens" jsonschema:"JWTs, or UCAN 1.0 delegations in multibase"`
}

type importOutput struct {
	CIDs []string `json:"cids"`
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

func openAll(texts []string) ([]*ucan.Link, error) {
	if len(texts) > maxTokens {
		return nil, fmt.Errorf("%d tokens in one call: send at most %d", len(texts), maxTokens)
	}
	links := make([]*ucan.Link, len(texts))
	for i, text := range texts {
		var err error
		if links[i], err = ucan.OpenText(text); err != nil {
			return nil, fmt.Errorf("tokens[%d]: %w", i, err)
		}
	}
	return links, nil
}

func read(s Service) []*tools.Operation {
	return []*tools.Operation{
		tools.New("ucan:import", "Store tokens that came from elsewhere, so that calls can rest on them.",
			func(importInput) []caps.Request { return []caps.Request{caps.NeedAbility(canDelegate)} },
			func(ctx context.Context, call tools.Call, in importInput) (importOutput, error) {
				if len(in.Tokens) == 0 {
					return importOutput{}, errors.New("tokens is empty: give at least one")
				}
				links, err := openAll(in.Tokens)
				if err != nil {
					return importOutput{}, err
				}
				out := importOutput{CIDs: make([]string, len(links))}
				for i, l := range links {
					out.CIDs[i] = l.CID().String()
				}
				return out, s.Import(ctx, call, links)
			}, tools.Within(caps.ScopeAbility(canDelegate)), tools.Idempotent(), tools.Exclusive()),

		tools.New("ucan:verify", "Say whether tokens carry an authority, and by which chain.",
			func(verifyInput) []caps.Request { return []caps.Request{caps.NeedAbility(canRead)} },
			func(ctx context.Context, call tools.Call, in verifyInput) (Verdict, error) {
				return verify(ctx, s, call, in)
			},
			tools.Within(caps.ScopeAbility(canRead)), tools.ReadOnly()),

		tools.New("ucan:list", "List the tokens that you received and issued.",
			func(listInput) []caps.Request { return []caps.Request{caps.NeedAbility(canRead)} },
			func(ctx context.Context, call tools.Call, in listInput) (listOutput, error) {
				both := in.Received == in.Issued
				list, err := s.List(ctx, call, in.Received || both, in.Issued || both)
				if list == nil {
					list = []Token{}
				}
				return listOutput{list}, err
			}, tools.Within(caps.ScopeAbility(canRead)), tools.ReadOnly()),
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
	if q.Tokens, err = openAll(in.Tokens); err != nil {
		return deny(err)
	}
	grant, links, err := s.Verify(ctx, call, q)
	if err != nil {
		return deny(err)
	}
	v := Verdict{Decision: tools.Allowed, Reason: allowedBy(grant, links), Chain: []Token{}}
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
