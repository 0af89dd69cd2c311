package orchestrate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"usher/caps"
	"usher/caps/value"
	"usher/tools/schema"
)

// Plan is a compiled orchestration. It is immutable and safe for concurrent use.
type Plan struct {
	path          string
	title         string
	description   string
	input, output *schema.Schema
	steps         []step
	result        spec
}

type step struct {
	number int
	name   string
	op     string
	input  spec
	strict bool
	needs  []int // steps that must be complete before, sorted
}

func (s *step) String() string {
	if s.name == "" {
		return fmt.Sprintf("step %d", s.number)
	}
	return fmt.Sprintf("step %d (%s)", s.number, s.name)
}

// Compile compiles the document that is kept at path, for example
// "o/ap-pipeline", and pays for its schemas. The error says where the fault is and
// what to write.
func Compile(ctx context.Context, path string, doc json.RawMessage, charge schema.Charge) (*Plan, error) {
	at, err := caps.ParseResource(path)
	if err != nil {
		return nil, fmt.Errorf("orchestration %q: %w", path, err)
	}
	if !strings.HasPrefix(at.String(), "o/") {
		return nil, fmt.Errorf("orchestration %q: operations are kept below o/: write o/<name>", path)
	}
	p, err := parse(ctx, doc, charge)
	if err != nil {
		return nil, fmt.Errorf("orchestration %s: %w", at, err)
	}
	p.path = at.String()
	return p, nil
}

// Check says whether a value may be stored where operations are kept, and pays as
// [Compile] does. It is nil
// for a value that is no operation at all, and for one of another adapter.
func Check(ctx context.Context, v any, charge schema.Charge) error {
	operation, callable := value.At(v, "operation")
	if !callable {
		return nil
	}
	fields, ok := operation.(map[string]any)
	if !ok {
		return fmt.Errorf(`operation: it is not an object: write {"adapter":"covia:read"} or {"adapter":%q,"steps":[…]}`, Adapter)
	}
	adapter, _ := fields["adapter"].(string)
	if adapter == "" {
		return fmt.Errorf(`operation.adapter: it is missing or not a string: write the operation to run, for example "covia:read", or %q`, Adapter)
	}
	_, steps := fields["steps"]
	if kind, _ := value.At(v, "type"); adapter != Adapter && !steps && kind != "orchestration" {
		return nil
	}
	if _, err := parse(ctx, value.Append(nil, v), charge); err != nil {
		return fmt.Errorf("orchestration: %w", err)
	}
	return nil
}

func (p *Plan) readSteps(list []stepForm) error {
	named := make(map[string]int)
	for n, d := range list {
		at := fmt.Sprintf("operation.steps[%d]", n)
		if other, taken := named[d.Name]; taken && d.Name != "" {
			return fmt.Errorf("%s.name: step %d is called %q already: choose another name", at, other, d.Name)
		}
		named[d.Name] = n
		r := reader{step: n, steps: len(list), needs: make(map[int]bool)}
		s := step{number: n, name: d.Name, op: d.Op, strict: d.Strict}
		var err error
		if s.input, err = r.input(d.Input, at+".input"); err != nil {
			return err
		}
		for i, before := range d.After {
			if err := r.earlier(before, fmt.Sprintf("%s.after[%d]", at, i)); err != nil {
				return err
			}
			r.needs[before] = true
		}
		s.needs = slices.Sorted(maps.Keys(r.needs))
		p.steps = append(p.steps, s)
	}
	return nil
}

// input compiles the input of a step. What can never be an object is refused.
func (r *reader) input(raw json.RawMessage, at string) (spec, error) {
	if len(raw) == 0 {
		return mapping{}, nil
	}
	v, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	s, err := r.read(v, at, 0)
	if err != nil {
		return nil, err
	}
	switch s := s.(type) {
	case constant:
		if _, ok := s.value.(map[string]any); !ok {
			return nil, fmt.Errorf(`%s: it is %s: an operation takes an object: write {"field":spec}`, at, value.A(s.value))
		}
	case concat:
		return nil, fmt.Errorf(`%s: "concat" makes no object: write {"field":["concat",…]}`, at)
	}
	return s, nil
}

// readResult compiles the result; without one it is what the last step returns.
func (p *Plan) readResult(raw json.RawMessage) error {
	n := len(p.steps)
	if len(raw) == 0 {
		p.result = reference{step: n - 1}
		return nil
	}
	v, err := decode(raw)
	if err != nil {
		return fmt.Errorf("operation.result: %w", err)
	}
	r := reader{step: n, steps: n, needs: make(map[int]bool)}
	p.result, err = r.read(v, "operation.result", 0)
	return err
}
