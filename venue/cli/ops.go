package cli

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"usher/tools"
	"usher/venue"
)

type opsCmd struct {
	List opsListCmd `cmd:"" reads:"" help:"List the operations, which agents name as tools, and what each needs."`
	Show opsShowCmd `cmd:"" reads:"" help:"Describe an operation: what it does, what it needs, and its input and output."`
}

type opsListCmd struct {
	onVenue
	Part string `arg:"" optional:"" help:"Only those that have this in their name or description."`
}

func (c *opsListCmd) Run(ctx context.Context, s *streams) error {
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		ops, err := u.Operations(ctx)
		if err != nil {
			return err
		}
		list := []tools.Sheet{}
		part := strings.ToLower(c.Part)
		for _, op := range ops {
			if is := op.Sheet(); strings.Contains(strings.ToLower(is.Name+" "+is.Operation+" "+is.Description), part) {
				list = append(list, is)
			}
		}
		slices.SortFunc(list, func(a, b tools.Sheet) int { return strings.Compare(a.Name, b.Name) })
		return printList(s, c.JSON, list, "no operation has that in its name or description", []string{"OPERATION", "NEEDS", "WHAT IT DOES"}, func(op *tools.Sheet) []string {
			does, _, _ := strings.Cut(op.Description, ". ")
			return []string{op.Name, strings.Join(needs(op, false), ", "), strings.TrimSuffix(does, ".")}
		})
	})
}

// needs is a text for each requirement: the abilities of which one is needed, and with places where.
func needs(op *tools.Sheet, places bool) (list []string) {
	for _, alternatives := range op.Needs {
		var abilities []string
		on := map[string][]string{}
		for _, d := range alternatives {
			can, place := string(d.Ability), d.Resource
			if d.Below {
				place = strings.TrimSuffix(place, "/") + "/"
			}
			if !slices.Contains(abilities, can) {
				abilities = append(abilities, can)
			}
			if places && place != "" && !slices.Contains(on[can], place) {
				on[can] = append(on[can], place)
			}
		}
		for i, can := range abilities {
			if len(on[can]) > 0 {
				abilities[i] += " on " + strings.Join(on[can], " ")
			}
		}
		list = append(list, strings.Join(abilities, ", or "))
	}
	return list
}

type opsShowCmd struct {
	onVenue
	Operation string `arg:"" help:"The operation: covia:read, v/ops/covia/read, or one of yours such as o/greet."`
}

func (c *opsShowCmd) Run(ctx context.Context, s *streams) error {
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		ref := c.Operation
		if path, is := u.Tool(ref); is { // as models call it
			ref = path
		}
		op, err := u.Operation(ctx, ref)
		if err != nil {
			return misuse{err}
		}
		sheet := op.Sheet()
		sheet.Input, sheet.Output = op.InputSchema(), op.OutputSchema()
		rows := [][]string{{"operation", sheet.Name}, {"path", sheet.Operation}, {"does", sheet.Description}}
		for _, need := range needs(&sheet, true) {
			rows = append(rows, []string{"needs", need})
		}
		switch {
		case sheet.ReadOnly:
			rows = append(rows, []string{"effect", "none: it only reads"})
		case sheet.Idempotent:
			rows = append(rows, []string{"effect", "the same when it is repeated"})
		}
		text := s.columns(rows)
		for _, part := range []struct {
			title  string
			schema json.RawMessage
		}{{"input", sheet.Input}, {"output", sheet.Output}} {
			if fields := fieldRows(part.schema); len(fields) > 0 {
				text += "\n" + s.paint.bold(part.title) + "\n" + s.columns(fields)
			}
		}
		return s.answer(c.JSON, sheet, text)
	})
}

// field is a schema of JSON, as far as a table shows it.
type field struct {
	Type        any              `json:"type"`
	AnyOf       []field          `json:"anyOf"`
	Description string           `json:"description"`
	Properties  map[string]field `json:"properties"`
	Required    []string         `json:"required"`
}

// UnmarshalJSON also reads a schema that is true or false: it says nothing.
func (f *field) UnmarshalJSON(raw []byte) error {
	if raw[0] != '{' {
		return nil
	}
	type plain field
	return json.Unmarshal(raw, (*plain)(f))
}

// types names the types of a value that fits; none is any.
func (f *field) types() (list []string) {
	switch t := f.Type.(type) {
	case string:
		list = append(list, t)
	case []any:
		for _, one := range t {
			if name, _ := one.(string); name != "null" {
				list = append(list, name)
			}
		}
	}
	for i := range f.AnyOf {
		list = append(list, f.AnyOf[i].types()...)
	}
	return list
}

// fieldRows are the fields of an object's schema: those that it must have come first.
func fieldRows(schema json.RawMessage) (rows [][]string) {
	var object field
	_ = json.Unmarshal(schema, &object) // where there is none, it has no fields
	for _, must := range []bool{true, false} {
		for _, name := range slices.Sorted(maps.Keys(object.Properties)) {
			if slices.Contains(object.Required, name) != must {
				continue
			}
			f := object.Properties[name]
			rows = append(rows, []string{name, strings.Join(f.types(), " or "), map[bool]string{true: "needed"}[must], f.Description})
		}
	}
	return rows
}
