package orchestrate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"usher/caps/value"
	"usher/tools/form"
)

// spec is one compiled value of a document.
type spec interface {
	// eval returns the value, made of what [json.Decoder.UseNumber] gives.
	eval(r *run) (any, error)
}

type (
	constant  struct{ value any }
	reference struct {
		step int // fromInput, or the number of a step
		path []any
	}
	concat  struct{ parts []spec }
	mapping map[string]spec
)

// fromInput stands for the input of the orchestration in place of a step.
const fromInput = -1

const maxSpecDepth = 64

var heads = []string{"input", "const", "concat"}

// reader compiles the specs of one step, or of the result.
type reader struct {
	step  int          // the step they belong to; the number of steps for the result
	steps int          // in all
	needs map[int]bool // collects the steps referred to
}

func (r *reader) read(v any, at string, depth int) (spec, error) {
	if depth > maxSpecDepth {
		return nil, fmt.Errorf("%s: it is nested too deeply: make it flatter", at)
	}
	switch v := v.(type) {
	case map[string]any:
		m := make(mapping, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			s, err := r.read(v[key], at+"."+key, depth+1)
			if err != nil {
				return nil, err
			}
			m[key] = s
		}
		return m, nil
	case []any:
		return r.list(v, at, depth)
	default:
		return constant{v}, nil
	}
}

func (r *reader) list(v []any, at string, depth int) (spec, error) {
	if len(v) == 0 {
		return nil, fmt.Errorf(`%s: the list is empty: write ["const",[]] for an empty list`, at)
	}
	switch head := v[0].(type) {
	case json.Number:
		n, err := strconv.Atoi(head.String())
		if err != nil {
			return nil, fmt.Errorf("%s: %s is no step number: write [0,…] for the output of step 0%s", at, head, asConst)
		}
		return r.reference(n, v, at)
	case string:
		switch head {
		case "input":
			return r.reference(fromInput, v, at)
		case "const":
			if len(v) != 2 {
				return nil, fmt.Errorf(`%s: "const" takes one value and got %d: write ["const",value]`, at, len(v)-1)
			}
			return constant{v[1]}, nil
		case "concat":
			return r.concat(v[1:], at, depth)
		}
		if near := form.Nearest(head, heads); near != "" {
			return nil, fmt.Errorf("%s: unknown %q: did you mean [%q,…]?", at, head, near)
		}
		return nil, fmt.Errorf(`%s: unknown %q: a list begins with "input", "const", "concat" or the number of a step%s`, at, head, asConst)
	default:
		return nil, fmt.Errorf(`%s: a list begins with "input", "const", "concat" or the number of a step, not with %s%s`, at, value.A(head), asConst)
	}
}

const asConst = `; a list as it stands is ["const",[…]]`

func (r *reader) reference(step int, v []any, at string) (spec, error) {
	if step != fromInput || v[0] != "input" {
		if err := r.earlier(step, at); err != nil {
			return nil, err
		}
		r.needs[step] = true
	}
	for i, element := range v[1:] {
		switch element := element.(type) {
		case string:
			continue
		case json.Number:
			if n, err := strconv.Atoi(element.String()); err == nil && n >= 0 {
				continue
			}
		}
		return nil, fmt.Errorf("%s[%d]: a path is made of keys and array indexes, not of %s", at, i+1, value.Show(element))
	}
	return reference{step, v[1:]}, nil
}

// earlier refuses references that are not to a step before this one.
func (r *reader) earlier(n int, at string) error {
	switch {
	case n < 0 || n >= r.steps:
		return fmt.Errorf("%s: there is no step %d: %s", at, n, r.choices())
	case n >= r.step:
		return fmt.Errorf("%s: step %d does not come before step %d: %s", at, n, r.step, r.choices())
	}
	return nil
}

func (r *reader) choices() string {
	switch r.step {
	case 0:
		return `step 0 can refer to ["input",…] only`
	case 1:
		return "refer to step 0"
	default:
		return fmt.Sprintf("refer to steps 0 to %d", r.step-1)
	}
}

func (r *reader) concat(parts []any, at string, depth int) (spec, error) {
	if len(parts) == 0 {
		return nil, fmt.Errorf(`%s: "concat" joins nothing: write ["concat",spec,spec]`, at)
	}
	c := concat{make([]spec, len(parts))}
	for i, part := range parts {
		var err error
		if c.parts[i], err = r.read(part, fmt.Sprintf("%s[%d]", at, i+1), depth+1); err != nil {
			return nil, err
		}
	}
	return c, nil
}
