package secrets

import (
	"context"

	"usher/caps"
	"usher/tools"
	"usher/ucan"
)

// Keeper keeps the secrets of owners apart from each other. The names and
// values that it is given are valid.
type Keeper interface {
	// Set is durable when it returns.
	Set(ctx context.Context, owner ucan.DID, name string, value Value) error
	// Get returns a [*NoSecretError] where there is none.
	Get(ctx context.Context, owner ucan.DID, name string) (Value, error)
	// List returns the owner's secrets, by name.
	List(ctx context.Context, owner ucan.DID) ([]Secret, error)
	// Delete says whether there was one.
	Delete(ctx context.Context, owner ucan.DID, name string) (deleted bool, err error)
}

type setInput struct {
	Name  string `json:"name" jsonschema:"what to keep it as, for example OPENAI"`
	Value Value  `json:"value" jsonschema:"the secret; what was kept under the name before is replaced"`
}

type setOutput struct {
	Name   string `json:"name"`
	Stored bool   `json:"stored"`
}

type nameInput struct {
	Name string `json:"name" jsonschema:"the name of the secret"`
}

type extractOutput struct {
	Name  string `json:"name"`
	Value Value  `json:"value"`
}

type listOutput struct {
	Secrets []Secret `json:"secrets"`
}

type deleteOutput struct {
	Name    string `json:"name"`
	Deleted bool   `json:"deleted"`
}

func (in setInput) name() string { return in.Name }

func (in nameInput) name() string { return in.Name }

// one is an operation on the secret that its input names, with the ability that
// it needs there. COG-13, "Standard Abilities", has secret and secret/decrypt; the
// others follow its pattern.
func one[In interface{ name() string }, Out any](
	name, description, can string, run func(context.Context, tools.Call, In) (Out, error), opts ...tools.Option,
) *tools.Operation {
	return tools.New(name, description, func(in In) []caps.Request {
		if err := CheckName(in.name()); err != nil {
			return []caps.Request{caps.Invalid(err)}
		}
		return []caps.Request{caps.Need(can, "s/"+in.name())}
	}, run, append(opts, tools.Within(caps.ScopeUnder(can, "s", 1, 1)))...)
}

// Operations returns the secret operations over k. Listing tells names and never
// values, which is why its ability is not called reading.
func Operations(k Keeper) []*tools.Operation {
	return []*tools.Operation{
		one("secret:set", "Keep a secret under a name, sealed.", "secret/store",
			func(ctx context.Context, call tools.Call, in setInput) (setOutput, error) {
				if err := CheckValue(in.Value); err != nil {
					return setOutput{}, &tools.InputError{Operation: call.Operation(), Err: err}
				}
				err := k.Set(ctx, call.Owner(), in.Name, in.Value)
				return setOutput{in.Name, err == nil}, err
			}, tools.Idempotent(), tools.WithSeal()),
		one("secret:extract", "Give out the value of a secret.", "secret/decrypt",
			func(ctx context.Context, call tools.Call, in nameInput) (extractOutput, error) {
				value, err := k.Get(ctx, call.Owner(), in.Name)
				return extractOutput{in.Name, value}, err
			}, tools.ReadOnly(), tools.WithSeal()),
		tools.New("secret:list", "List the names of the secrets, not their values.",
			func(struct{}) []caps.Request { return []caps.Request{caps.Need("secret/list", "s")} },
			func(ctx context.Context, call tools.Call, _ struct{}) (listOutput, error) {
				list, err := k.List(ctx, call.Owner())
				return listOutput{append([]Secret{}, list...)}, err
			}, tools.Within(caps.ScopeExactly("secret/list", "s")), tools.ReadOnly()),
		one("secret:delete", "Delete a secret.", "secret/delete",
			func(ctx context.Context, call tools.Call, in nameInput) (deleteOutput, error) {
				deleted, err := k.Delete(ctx, call.Owner(), in.Name)
				return deleteOutput{in.Name, deleted}, err
			}, tools.Idempotent()),
	}
}
