package guard

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"usher/caps"
	"usher/caps/value"
)

// maxNesting is how deep constraints may be.
const maxNesting = 32

// violation is a constraint that a call does not keep to.
type violation struct {
	Field      string `json:"field"`
	Constraint any    `json:"constraint"`
	Actual     any    `json:"actual,omitempty"`
}

// fit returns the first of several grants within whose constraints the arguments are. What the
// constraints say is read as the venue reads them, as limits of a capability; those that
// cannot be read let nothing through.
func fit(grants []Grant, arguments []byte) (*Grant, error) {
	args, err := value.Object(arguments, value.MaxDepth)
	if err != nil {
		return nil, invalid("arguments is no JSON object: " + err.Error())
	}
	var first []violation
	for i := range grants {
		list, err := violations(grants[i].Constraints, args)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return &grants[i], nil
		}
		if first == nil {
			first = list
		}
	}
	return nil, &refusal{status: http.StatusForbidden, Code: "constraint_violated", Message: "the arguments do not keep to the constraints of the grant", Violations: first}
}

// violations lists what arguments do not keep to, by the names of the fields. A name in another
// case is refused: encoding/json would take the one for the other.
func violations(constraints []byte, args map[string]any) (list []violation, err error) {
	if len(constraints) == 0 || string(constraints) == "null" {
		return nil, nil
	}
	fields, err := value.Object(constraints, maxNesting)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		for other := range args {
			if other != name && strings.EqualFold(other, name) {
				return nil, invalid("an argument differs from one that is limited in upper and lower case alone")
			}
		}
		limits, err := caps.ParseLimits(value.Append(nil, map[string]any{"/" + name: fields[name]}))
		if err != nil {
			return nil, err
		}
		if !limits.Hold(args) {
			said := fields[name]
			if _, operators := said.(map[string]any); !operators {
				said = map[string]any{"eq": said}
			}
			list = append(list, violation{name, said, args[name]})
		}
	}
	return list, nil
}
