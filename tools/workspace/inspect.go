package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"usher/caps/value"
	"usher/tools"
)

type inspectIn struct {
	Paths   json.RawMessage `json:"paths" jsonschema:"a path, or an array of paths"`
	Budget  int64           `json:"budget,omitempty" jsonschema:"bytes of text for all paths together (default 500, at least 10)"`
	Compact *bool           `json:"compact,omitzero" jsonschema:"one line for each value (default true)"`
}

type inspectOut struct {
	Result any `json:"result"`
}

func (s *space) inspect(ctx context.Context, call tools.Call, in inspectIn) (inspectOut, error) {
	if err := checkBounds("budget", &in.Budget, defaultBudget, smallestBudget, largestBudget); err != nil {
		return inspectOut{}, err
	}
	paths, err := pathList(in.Paths)
	if err != nil {
		return inspectOut{}, err
	}
	v, err := s.treeFor(call).look(ctx)
	if err != nil {
		return inspectOut{}, err
	}
	defer v.close()
	share := max(smallestBudget, int(in.Budget)/len(paths))
	texts := make(map[string]string, len(paths))
	for _, p := range paths {
		r, err := source(call, p)
		if err != nil {
			return inspectOut{}, err
		}
		n, rev, err := v.resolve(ctx, call.Owner().String(), r)
		text := "/* nothing here */"
		if err == nil && rev != 0 {
			text, err = renderer{v, in.Compact == nil || *in.Compact}.render(ctx, n, share)
		}
		if err != nil {
			return inspectOut{}, err
		}
		texts[p.String()] = text
	}
	if strings.HasPrefix(strings.TrimSpace(string(in.Paths)), "[") {
		return inspectOut{texts}, nil
	}
	return inspectOut{texts[paths[0].String()]}, nil
}

// renderer prints a value as JSON5 for reading: as much of it as a budget of bytes allows, with
// comments for what is left out. Of a large collection it reads only what it prints.
type renderer struct {
	view
	compact bool
}

// render prints n in at most budget bytes: whole, or with as many children as fit, and more of those
// further inside, since a record shown in full says more than five cut short.
func (r renderer) render(ctx context.Context, n node, budget int) (string, error) {
	v, err := openNode(n)
	if err != nil {
		return "", err
	}
	for _, grow := range []int{4, 1} {
		for most := budget; most > 0; most = most * 2 / 3 {
			if ctx.Err() != nil {
				return "", context.Cause(ctx)
			}
			left := budget + 2
			text, err := r.print(ctx, v, showLimits{most, grow, &left}, 0)
			if err == nil && len(text) <= budget {
				return text, nil
			}
			if err != nil && !errors.Is(err, errOver) {
				return "", err
			}
		}
	}
	if !n.container() {
		return value.Cut(string(n), budget), nil
	}
	count, err := r.size(ctx, n)
	return value.Cut(placeholder(count, n.isVector()), budget), err
}

// showLimits is what a renderer prints of a value: so many children, and of those as many more; and so
// many bytes of a scalar. It ends when there is no room left.
type showLimits struct {
	most, grow int
	left       *int
}

// openNode returns a leaf as its decoded value, and a branch as it is.
func openNode(n node) (any, error) {
	if n.isStored() {
		return n, nil
	}
	return parse(n)
}

// print prints what openNode returns.
func (r renderer) print(ctx context.Context, v any, s showLimits, depth int) (string, error) {
	vector := false
	switch v := v.(type) {
	case node:
		vector = v.isVector()
	case []any:
		vector = true
	case map[string]any:
	default:
		text := scalar(string(value.Append(nil, v)), s.most)
		*s.left -= len(text)
		return text, nil
	}
	var parts []string
	more := false
	for c, err := range r.parts(ctx, v) {
		if err != nil {
			return "", err
		}
		if more = len(parts) == s.most; more {
			break
		}
		text, err := r.print(ctx, c.v, showLimits{min(s.most, largestBudget) * s.grow, s.grow, s.left}, depth+1)
		if err != nil {
			return "", err
		}
		head := label(c.key, vector)
		*s.left -= len(head)
		if *s.left -= 2; *s.left < 0 { // brackets, or a comma and a space; the last has none
			return "", errOver
		}
		parts = append(parts, head+text)
	}
	if more {
		count, err := r.length(ctx, v)
		if err != nil {
			return "", err
		}
		parts = append(parts, fmt.Sprintf("/* +%d more */", count-len(parts)))
	}
	return r.frame(vector, parts, depth), nil
}

// printPart is a part of what is printed: its key, or "" in an array, and what openNode returns of it.
type printPart struct {
	key string
	v   any
}

// parts goes through the parts of a branch, or of a decoded map or array.
func (r renderer) parts(ctx context.Context, v any) iter.Seq2[printPart, error] {
	return func(yield func(printPart, error) bool) {
		for key, part := range partsOf(v) {
			if !yield(printPart{key, part}, nil) {
				return
			}
		}
		n, isBranch := v.(node)
		if !isBranch {
			return
		}
		for c, err := range r.children(ctx, n, 0, firstPage) {
			part := printPart{key: c.key}
			if err == nil {
				part.v, err = openNode(c.node)
			}
			if !yield(part, err) {
				return
			}
		}
	}
}

func (r renderer) length(ctx context.Context, v any) (int, error) {
	switch v := v.(type) {
	case node:
		return r.size(ctx, v)
	case []any:
		return len(v), nil
	case map[string]any:
		return len(v), nil
	}
	return 0, nil
}

// scalar prints a scalar, cut where it has much more than most bytes.
func scalar(text string, most int) string {
	const smallest = 20
	if most = max(most, smallest); len(text) <= most+smallest {
		return text
	}
	cut := strings.TrimRight(strings.TrimSuffix(value.Cut(text, most), "…"), `\`) // not in the middle of an escape
	return fmt.Sprintf(`%s…" /* %d bytes */`, cut, len(text))
}

// frame puts the brackets around printed children.
func (r renderer) frame(vector bool, parts []string, depth int) string {
	open, end := "{", "}"
	if vector {
		open, end = "[", "]"
	}
	if r.compact || len(parts) == 0 {
		return open + strings.Join(parts, ", ") + end
	}
	indent := "\n" + strings.Repeat("  ", depth+1)
	return open + indent + strings.Join(parts, ","+indent) + indent[:len(indent)-2] + end
}

// placeholder stands for a container of which nothing is shown.
func placeholder(count int, vector bool) string {
	form, noun := "{/* %d %s */}", "key"
	if vector {
		form, noun = "[/* %d %s */]", "item"
	}
	if count != 1 {
		noun += "s"
	}
	return fmt.Sprintf(form, count, noun)
}

var identifier = value.Form(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

func label(key string, vector bool) string {
	switch {
	case vector:
		return ""
	case identifier().MatchString(key):
		return key + ": "
	default:
		return string(value.AppendString(nil, key)) + ": "
	}
}
