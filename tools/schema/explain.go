package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// explain turns the validator's tree into a flat list in plain words.
func explain(root *jsonschema.ValidationError, value any) *Error {
	found := leaves(root, value)
	slices.SortStableFunc(found, func(a, b leaf) int {
		return cmp.Or(comparePlaces(a.at, b.at), strings.Compare(a.problem, b.problem))
	})
	e := new(Error)
	for _, l := range found {
		v := Violation{Place: place(l.at, value), Problem: l.problem}
		if n := len(e.Violations); n == 0 || e.Violations[n-1] != v {
			e.Violations = append(e.Violations, v)
		}
	}
	return e
}

type leaf struct {
	at      []string
	problem string
}

func leaves(e *jsonschema.ValidationError, value any) []leaf {
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf:
		return alternatives(e, value)
	case *kind.OneOf:
		if len(k.Subschemas) == 0 {
			return alternatives(e, value)
		}
	case *kind.Required:
		return fields(e.InstanceLocation, k.Missing, "required, but missing")
	case *kind.AdditionalProperties:
		return fields(e.InstanceLocation, k.Properties, "not a field that the schema allows")
	case *kind.PropertyNames:
		return []leaf{{e.InstanceLocation, fmt.Sprintf("the field name %s is not allowed", short(k.Property))}}
	case *kind.Contains, *kind.MinContains:
		return []leaf{{e.InstanceLocation, problem(e)}}
	}
	if len(e.Causes) == 0 {
		return []leaf{{e.InstanceLocation, problem(e)}}
	}
	var found []leaf
	for _, cause := range e.Causes {
		found = append(found, leaves(cause, value)...)
	}
	return found
}

// alternatives explains a value that fits none of several schemas: by their
// types where these alone decide, else by the one that comes closest.
func alternatives(e *jsonschema.ValidationError, value any) []leaf {
	var want []string
	var closest []leaf
	for _, cause := range e.Causes {
		if t, ok := typeAt(cause, e.InstanceLocation); ok {
			for _, w := range t.Want {
				if !slices.Contains(want, w) {
					want = append(want, w)
				}
			}
			continue
		}
		if l := leaves(cause, value); closest == nil || len(l) < len(closest) {
			closest = l
		}
	}
	if closest != nil {
		return closest
	}
	if want == nil {
		return []leaf{{e.InstanceLocation, "fits none of the alternatives"}}
	}
	return []leaf{{e.InstanceLocation, expected(want, lookUp(e.InstanceLocation, value))}}
}

// typeAt reports a mismatch of type at this place, behind references.
func typeAt(e *jsonschema.ValidationError, at []string) (*kind.Type, bool) {
	if _, ok := e.ErrorKind.(*kind.Reference); ok && len(e.Causes) == 1 {
		return typeAt(e.Causes[0], at)
	}
	t, ok := e.ErrorKind.(*kind.Type)
	return t, ok && len(e.InstanceLocation) == len(at)
}

func fields(at, names []string, text string) []leaf {
	list := make([]leaf, len(names))
	for i, name := range names {
		list[i] = leaf{append(slices.Clone(at), name), text}
	}
	return list
}
