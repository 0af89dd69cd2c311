package config

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// converter makes nodes of what the parser found.
type converter struct {
	src     *source
	anchors map[string]*node // nil while the value of the anchor is being read
}

func (c *converter) at(tk *token.Token) place {
	if tk == nil || tk.Position == nil {
		return place{File: c.src.name}
	}
	return c.src.at(tk.Position.Line, tk.Position.Column)
}

func (c *converter) node(n ast.Node, depth int) (*node, error) {
	if n == nil {
		return &node{at: place{File: c.src.name}, size: 1}, nil
	}
	at := c.at(n.GetToken())
	if depth > maxNesting {
		return nil, fault{at, fmt.Sprintf("values nest more than %d levels deep: write it flatter", maxNesting)}
	}
	switch n := n.(type) {
	case *ast.NullNode:
		return &node{at: at, size: 1}, nil
	case *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return plain(n.GetToken().Value, at)
	case *ast.StringNode:
		if n.Token.Type == token.StringType {
			return plain(n.Value, at)
		}
		return &node{kind: text, text: n.Value, at: at, size: 1}, nil
	case *ast.LiteralNode:
		return &node{kind: text, text: n.Value.Value, at: at, size: 1}, nil
	case *ast.SequenceNode:
		return c.list(n, at, depth)
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			at = c.at(n.Values[0].Key.GetToken())
		}
		return c.mapping(n.Values, at, depth)
	case *ast.MappingValueNode:
		return c.mapping([]*ast.MappingValueNode{n}, c.at(n.Key.GetToken()), depth)
	case *ast.AnchorNode:
		return c.anchor(n, at, depth)
	case *ast.AliasNode:
		return c.alias(n, at)
	case *ast.TagNode:
		return c.tagged(n, at, depth)
	}
	return nil, fault{at, fmt.Sprintf("%s cannot stand here: write plain values", n.Type().YAMLName())}
}

func (c *converter) list(n *ast.SequenceNode, at place, depth int) (*node, error) {
	out := &node{kind: list, at: at, size: 1}
	for _, v := range n.Values {
		item, err := c.node(v, depth+1)
		if err != nil {
			return nil, err
		}
		out.items = append(out.items, item)
		if err := out.grow(item); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c *converter) mapping(values []*ast.MappingValueNode, at place, depth int) (*node, error) {
	out := &node{kind: mapping, at: at, size: 1}
	written := make(map[string]place, len(values))
	var merged *node
	for _, v := range values {
		value, err := c.node(v.Value, depth+1)
		if err != nil {
			return nil, err
		}
		keyAt := c.at(v.Key.GetToken())
		if _, ok := v.Value.(*ast.NullNode); ok || v.Value == nil {
			value.at = keyAt
		}
		if err := out.grow(value); err != nil {
			return nil, err
		}
		if v.Key.IsMergeKey() {
			if merged != nil {
				return nil, fault{keyAt, "the key << stands twice: merge a list, for example <<: [*a, *b]"}
			}
			merged = value
			continue
		}
		key, err := c.key(v.Key, keyAt)
		if err != nil {
			return nil, err
		}
		if first, twice := written[key]; twice {
			return nil, fault{keyAt, fmt.Sprintf("key %q stands twice, first on line %d: write it once", key, first.Line)}
		}
		written[key] = keyAt
		out.fields = append(out.fields, field{key, keyAt, value})
	}
	if merged == nil {
		return out, nil
	}
	if err := out.merge(merged, written); err != nil {
		return nil, err
	}
	return out, nil
}

// key reads a key. One that is not text would have to be made into some.
func (c *converter) key(k ast.Node, at place) (string, error) {
	if m, ok := k.(*ast.MappingKeyNode); ok {
		k = m.Value
	}
	n, err := c.node(k, maxNesting-1)
	if err != nil {
		return "", err
	}
	if n.kind != text {
		what := n.kind.String()
		if n.kind == number || n.kind == boolean {
			return "", fault{at, fmt.Sprintf("key %s is %s: keys are text, write %q", n.text, what, n.text)}
		}
		return "", fault{at, fmt.Sprintf("a key is %s: keys are text", what)}
	}
	return n.text, nil
}

// merge takes over the fields of m that were not written (the merge key, <<).
func (n *node) merge(m *node, written map[string]place) error {
	switch m.kind {
	case mapping:
		for _, f := range m.fields {
			if _, ok := written[f.key]; !ok {
				written[f.key] = f.at
				n.fields = append(n.fields, f)
			}
		}
		return nil
	case list:
		for _, item := range m.items {
			if item.kind != mapping {
				return fault{item.at, "<< merges mappings, and this is " + item.kind.String()}
			}
			if err := n.merge(item, written); err != nil {
				return err
			}
		}
		return nil
	}
	return fault{m.at, "<< merges mappings, and this is " + m.kind.String() + ": write for example <<: *defaults"}
}

func (c *converter) anchor(n *ast.AnchorNode, at place, depth int) (*node, error) {
	name := n.Name.GetToken().Value
	c.anchors[name] = nil
	value, err := c.node(n.Value, depth)
	if err != nil {
		return nil, err
	}
	if value.kind == null {
		value.at = at
	}
	c.anchors[name] = value
	return value, nil
}

func (c *converter) alias(n *ast.AliasNode, at place) (*node, error) {
	name := n.Value.GetToken().Value
	value, known := c.anchors[name]
	switch {
	case !known:
		return nil, fault{at, fmt.Sprintf("*%s means nothing yet: an anchor &%s has to stand before it", name, name)}
	case value == nil:
		return nil, fault{at, fmt.Sprintf("*%s stands inside &%s itself: a value cannot contain itself", name, name)}
	}
	return value, nil
}

// grow counts item into n, so that aliases of aliases cannot make a small file
// into an endless value.
func (n *node) grow(item *node) error {
	if n.size += item.size; n.size > maxValues {
		return fault{n.at, fmt.Sprintf("this holds more than %d values once its aliases are written out: use fewer", maxValues)}
	}
	return nil
}
