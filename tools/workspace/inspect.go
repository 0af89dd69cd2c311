package workspace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"usher/caps/value"
)

// renderer prints a value as JSON5 for reading: as much of it as a budget of bytes allows, with
// comments for what is left out. Of a large collection it reads only what it prints.
type renderer struct {
	view
	compact bool
}

const (
	moreReserve = 18 // for "/* +123456 more */"
	smallest    = 20 // room for "{/* 123456 keys */}": a child with less is left out
)

// render prints n in at most budget bytes.
func (r renderer) render(ctx context.Context, n node, budget, depth int) (string, error) {
	// Quotes around keys are what JSON5 saves, so a text that is a little longer may fit.
	out := &sink{limit: 2 * int64(budget), short: true}
	switch err := r.stream(ctx, n, out); {
	case err == nil:
		v, err := parse(out.buf)
		if err != nil {
			return "", err
		}
		if text := r.whole(v, depth); len(text) <= budget {
			return text, nil
		}
	case !errors.Is(err, errOver):
		return "", err
	}
	if n.container() {
		return r.container(ctx, n, budget, depth)
	}
	return r.scalar(n, budget), nil
}

// whole prints a decoded value without leaving anything out.
func (r renderer) whole(v any, depth int) string {
	var parts []string
	switch c := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(c)) {
			parts = append(parts, label(k, false)+r.whole(c[k], depth+1))
		}
		return r.frame(false, parts, depth)
	case []any:
		for _, e := range c {
			parts = append(parts, r.whole(e, depth+1))
		}
		return r.frame(true, parts, depth)
	default:
		return string(value.Append(nil, v))
	}
}

func (r renderer) container(ctx context.Context, n node, budget, depth int) (string, error) {
	vector := n.isVector()
	count, err := r.size(ctx, n)
	if err != nil {
		return "", err
	}
	if budget < 2*moreReserve {
		return value.Cut(placeholder(count, vector), budget), nil
	}
	overhead := 2
	if !r.compact {
		overhead = 2 + 2*(depth+1)
	}
	var parts []string
	left := budget - 2
	for c, err := range r.children(ctx, n, 0, firstPage) {
		if err != nil {
			return "", err
		}
		rest := count - len(parts)
		room := left
		if rest > 1 {
			room -= moreReserve
		}
		head := label(c.key, vector)
		room -= len(head) + overhead
		if room < smallest && (c.node.stored() || len(c.node.leaf) > room) {
			break
		}
		// Half of what is left: a record shown in full says more than five cut short.
		share := min(room, max(smallest, left/min(rest, 2)-len(head)-overhead))
		text, err := r.render(ctx, c.node, share, depth+1)
		if err != nil {
			return "", err
		}
		left -= len(head) + len(text) + overhead
		parts = append(parts, head+text)
	}
	switch {
	case len(parts) == 0:
		return value.Cut(placeholder(count, vector), budget), nil
	case len(parts) < count:
		parts = append(parts, fmt.Sprintf("/* +%d more */", count-len(parts)))
	}
	return value.Cut(r.frame(vector, parts, depth), budget), nil
}

func (r renderer) scalar(n node, budget int) string {
	text, size := string(n.leaf), fmt.Sprintf(" /* %d bytes */", len(n.leaf))
	keep := budget - len(size) - len(`…"`)
	if keep < smallest {
		return value.Cut(text, budget)
	}
	cut := strings.TrimRight(strings.TrimSuffix(value.Cut(text, keep+len("…")), "…"), `\`) // not in the middle of an escape
	return cut + `…"` + size
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

var identifier = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

func label(key string, vector bool) string {
	switch {
	case vector:
		return ""
	case identifier.MatchString(key):
		return key + ": "
	default:
		return string(value.AppendString(nil, key)) + ": "
	}
}
