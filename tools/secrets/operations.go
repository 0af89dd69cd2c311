package secrets

import (
	"context"

	"usher/caps"
	"usher/tools"
)

// Abilities of the operations. COG-13, "Standard Abilities", has secret and
// secret/decrypt; the others follow its pattern. Listing tells names and never
// values, which is why it is not called reading.
const (
	canStore   = "secret/store"
	canDecrypt = "secret/decrypt"
	canList    = "secret/list"
	canDelete  = "secret/delete"
)

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

// on is the requirement of an ability on one secret.
func on(can, name string) []caps.Request {
	if err := CheckName(name); err != nil {
		return []caps.Request{caps.Invalid(err)}
	}
	return []caps.Request{caps.Need(can, "s/"+name)}
}

// within is the reach of an operation on one secret.
func within(can string) tools.Option { return tools.Within(caps.ScopeUnder(can, "s", 1, 1)) }

// Operations returns the secret operations over k.
func Operations(k Keeper) []*tools.Operation {
	return []*tools.Operation{
		tools.New("secret:set", "Keep a secret under a name, sealed.",
			func(in setInput) []caps.Request { return on(canStore, in.Name) },
			func(ctx context.Context, call tools.Call, in setInput) (setOutput, error) {
				if err := CheckValue(in.Value); err != nil {
					return setOutput{}, &tools.InputError{Operation: call.Operation(), Err: err}
				}
				err := k.Set(ctx, call.Owner(), in.Name, in.Value)
				return setOutput{in.Name, err == nil}, err
			}, within(canStore), tools.Idempotent(), tools.Sealed()),

		tools.New("secret:extract", "Give out the value of a secret.",
			func(in nameInput) []caps.Request { return on(canDecrypt, in.Name) },
			func(ctx context.Context, call tools.Call, in nameInput) (extractOutput, error) {
				value, err := k.Get(ctx, call.Owner(), in.Name)
				return extractOutput{in.Name, value}, err
			}, within(canDecrypt), tools.ReadOnly(), tools.Sealed()),

		tools.New("secret:list", "List the names of the secrets, not their values.",
			func(struct{}) []caps.Request { return []caps.Request{caps.Need(canList, "s")} },
			func(ctx context.Context, call tools.Call, _ struct{}) (listOutput, error) {
				list, err := k.List(ctx, call.Owner())
				if list == nil {
					list = []Secret{}
				}
				return listOutput{list}, err
			}, tools.Within(caps.ScopeExactly(canList, "s")), tools.ReadOnly()),

		tools.New("secret:delete", "Delete a secret.",
			func(in nameInput) []caps.Request { return on(canDelete, in.Name) },
			func(ctx context.Context, call tools.Call, in nameInput) (deleteOutput, error) {
				deleted, err := k.Delete(ctx, call.Owner(), in.Name)
				return deleteOutput{in.Name, deleted}, err
			}, within(canDelete), tools.Idempotent()),
	}
}
