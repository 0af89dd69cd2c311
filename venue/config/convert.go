package config

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"usher/tools/form"
)

// converter makes nodes of what the parser found. Aliases become the node that
// they mean, so a node may hang in several places.
type converter struct {
	src     *source
	anchors map[string]*form.Node // nil while the value of the anchor is being read
	sizes   map[*form.Node]int    // values in a list or an object, itself included
}

func (c *converter) at(tk *token.Token) form.Pos {
	if tk == nil || tk.Position == nil {
		return form.Pos{}
	}
	return posOf(tk)
}

func posOf(tk *token.Token) form.Pos {
	return form.Pos{Line: tk.Position.Line, Column: max(tk.Position.Column, 1)}
}

func (c *converter) node(n ast.Node, depth int) (*form.Node, error) {
	if n == nil {
		return &form.Node{}, nil
	}
	at := c.at(n.GetToken())
	if depth > maxNesting {
		return nil, c.fault(at, fmt.Sprintf("values nest more than %d levels deep: write it flatter", maxNesting))
	}
	switch n := n.(type) {
	case *ast.NullNode:
		return &form.Node{At: at}, nil
	case *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return c.plain(n.GetToken().Value, at)
	case *ast.StringNode:
		if n.Token.Type == token.StringType {
			return c.plain(n.Value, at)
		}
		return &form.Node{Kind: form.Text, Text: n.Value, At: at}, nil
	case *ast.LiteralNode:
		return &form.Node{Kind: form.Text, Text: n.Value.Value, At: at}, nil
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
		return nil, c.fault(at, fmt.Sprintf("the tag %s cannot stand here: write the plain value, and text in quotes", n.Start.Value))
	}
	return nil, c.fault(at, fmt.Sprintf("%s cannot stand here: write plain values", n.Type().YAMLName()))
}

func (c *converter) list(n *ast.SequenceNode, at form.Pos, depth int) (*form.Node, error) {
	out := &form.Node{Kind: form.List, At: at}
	for _, v := range n.Values {
		item, err := c.node(v, depth+1)
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, item)
		if err := c.grow(out, item); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c *converter) mapping(values []*ast.MappingValueNode, at form.Pos, depth int) (*form.Node, error) {
	out := &form.Node{Kind: form.Object, At: at}
	written := make(map[string]form.Pos, len(values))
	for _, v := range values {
		value, err := c.node(v.Value, depth+1)
		if err != nil {
			return nil, err
		}
		keyAt := c.at(v.Key.GetToken())
		if _, ok := v.Value.(*ast.NullNode); ok || v.Value == nil {
			value.At = keyAt
		}
		if err := c.grow(out, value); err != nil {
			return nil, err
		}
		if v.Key.IsMergeKey() {
			return nil, c.fault(keyAt, "<< is no key of YAML 1.2: write out what it would merge")
		}
		key, err := c.key(v.Key, keyAt)
		if err != nil {
			return nil, err
		}
		if first, twice := written[key]; twice {
			return nil, c.fault(keyAt, fmt.Sprintf("key %q stands twice, first on line %d: write it once", key, first.Line))
		}
		written[key] = keyAt
		out.Fields = append(out.Fields, form.Field{Key: key, At: keyAt, Value: value})
	}
	return out, nil
}

// key reads a key. One that is not text would have to be made into some.
func (c *converter) key(k ast.Node, at form.Pos) (string, error) {
	if m, ok := k.(*ast.MappingKeyNode); ok {
		k = m.Value
	}
	n, err := c.node(k, maxNesting-1)
	if err != nil {
		return "", err
	}
	if n.Kind != form.Text {
		what := form.YAML.Name(n.Kind)
		if n.Kind == form.Number || n.Kind == form.Boolean {
			return "", c.fault(at, fmt.Sprintf("key %s is %s: keys are text, write %q", n.Text, what, n.Text))
		}
		return "", c.fault(at, fmt.Sprintf("a key is %s: keys are text", what))
	}
	return n.Text, nil
}

func (c *converter) anchor(n *ast.AnchorNode, at form.Pos, depth int) (*form.Node, error) {
	name := n.Name.GetToken().Value
	c.anchors[name] = nil
	value, err := c.node(n.Value, depth)
	if err != nil {
		return nil, err
	}
	if value.Kind == form.Null {
		value.At = at
	}
	c.anchors[name] = value
	return value, nil
}

func (c *converter) alias(n *ast.AliasNode, at form.Pos) (*form.Node, error) {
	name := n.Value.GetToken().Value
	value, known := c.anchors[name]
	switch {
	case !known:
		return nil, c.fault(at, fmt.Sprintf("*%s means nothing yet: an anchor &%s has to stand before it", name, name))
	case value == nil:
		return nil, c.fault(at, fmt.Sprintf("*%s stands inside &%s itself: a value cannot contain itself", name, name))
	}
	return value, nil
}

// grow counts item into n, so that aliases of aliases cannot make a small file
// into an endless value.
func (c *converter) grow(n, item *form.Node) error {
	c.sizes[n] = max(c.sizes[n], 1) + max(c.sizes[item], 1)
	if c.sizes[n] > maxValues {
		return c.fault(n.At, fmt.Sprintf("this holds more than %d values once its aliases are written out: use fewer", maxValues))
	}
	return nil
}

func (c *converter) fault(at form.Pos, message string) error { return fault{c.src.at(at), message} }
