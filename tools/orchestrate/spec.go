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

const maxSpecDepth = 64

// reader checks the specs of one step, or of the result. A spec that it took is evaluated as it
// was decoded.
type reader struct {
	step  int          // the step they belong to; the number of steps for the result
	steps int          // in all
	needs map[int]bool // collects the steps referred to
}

func (r *reader) read(v any, at string, depth int) error {
	if depth > maxSpecDepth {
		return fmt.Errorf("%s: it is nested too deeply: make it flatter", at)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if err := r.read(v[key], at+"."+key, depth+1); err != nil {
				return err
			}
		}
	case []any:
		return r.list(v, at, depth)
	}
	return nil
}

func (r *reader) list(v []any, at string, depth int) error {
	if len(v) == 0 {
		return fmt.Errorf(`%s: the list is empty: write ["const",[]] for an empty list`, at)
	}
	const asConst = `; a list as it stands is ["const",[…]]`
	switch head := v[0].(type) {
	case json.Number:
		n, err := strconv.Atoi(head.String())
		if err != nil {
			return fmt.Errorf("%s: %s is no step number: write [0,…] for the output of step 0%s", at, head, asConst)
		}
		if err := r.earlier(n, at); err != nil {
			return err
		}
		r.needs[n] = true
		return checkPath(v, at)
	case string:
		switch {
		case head == "input":
			return checkPath(v, at)
		case head == "const" && len(v) != 2:
			return fmt.Errorf(`%s: "const" takes one value and got %d: write ["const",value]`, at, len(v)-1)
		case head == "const":
			return nil
		case head == "concat" && len(v) == 1:
			return fmt.Errorf(`%s: "concat" joins nothing: write ["concat",spec,spec]`, at)
		case head == "concat":
			for i, part := range v[1:] {
				if err := r.read(part, fmt.Sprintf("%s[%d]", at, i+1), depth+1); err != nil {
					return err
				}
			}
			return nil
		}
		if near := form.Nearest(head, []string{"input", "const", "concat"}); near != "" {
			return fmt.Errorf("%s: unknown %q: did you mean [%q,…]?", at, head, near)
		}
		return fmt.Errorf(`%s: unknown %q: a list begins with "input", "const", "concat" or the number of a step%s`, at, head, asConst)
	default:
		return fmt.Errorf(`%s: a list begins with "input", "const", "concat" or the number of a step, not with %s%s`, at, value.A(head), asConst)
	}
}

// checkPath checks what follows the head of a reference.
func checkPath(v []any, at string) error {
	for i, element := range v[1:] {
		_, isKey := element.(string)
		number, _ := element.(json.Number)
		if n, err := strconv.Atoi(number.String()); !isKey && (err != nil || n < 0) {
			return fmt.Errorf("%s[%d]: a path is made of keys and array indexes, not of %s", at, i+1, value.Show(element))
		}
	}
	return nil
}

// earlier refuses references that are not to a step before this one.
func (r *reader) earlier(n int, at string) error {
	choices := fmt.Sprintf("refer to steps 0 to %d", r.step-1)
	switch r.step {
	case 0:
		choices = `step 0 can refer to ["input",…] only`
	case 1:
		choices = "refer to step 0"
	}
	switch {
	case n < 0 || n >= r.steps:
		return fmt.Errorf("%s: there is no step %d: %s", at, n, choices)
	case n >= r.step:
		return fmt.Errorf("%s: step %d does not come before step %d: %s", at, n, r.step, choices)
	}
	return nil
}

// input checks the input of a step. What can never be an object is refused.
func (r *reader) input(raw json.RawMessage, at string) (any, error) {
	if len(raw) == 0 {
		return map[string]any{}, nil
	}
	v, err := r.decode(raw, at)
	if err != nil {
		return nil, err
	}
	made := v
	if list, isList := v.([]any); isList {
		switch list[0] {
		case "concat":
			return nil, fmt.Errorf(`%s: "concat" makes no object: write {"field":["concat",…]}`, at)
		case "const":
			made = list[1]
		default: // a reference
			return v, nil
		}
	}
	if _, ok := made.(map[string]any); !ok {
		return nil, fmt.Errorf(`%s: it is %s: an operation takes an object: write {"field":spec}`, at, value.A(made))
	}
	return v, nil
}

func (r *reader) decode(raw json.RawMessage, at string) (any, error) {
	v, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	return v, r.read(v, at, 0)
}
