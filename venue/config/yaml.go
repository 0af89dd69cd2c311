package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"

	"usher/caps/value"
	"usher/tools/form"
)

// Bounds of a file.
const (
	maxFileBytes   = 4 << 20
	maxSourceBytes = 1 << 20
	maxNesting     = 64
	maxWritten     = 16 << 20 // with aliases written out
)

// parse reads one document. It returns nil for a file without any content; an
// error is a [*Finding].
func parse(src *source, data []byte) (*form.Node, error) {
	if rest, ok := bytes.CutPrefix(data, []byte("%YAML 1.2")); ok { // the library reads 1.2 and takes a file that says 1.1
		data = append([]byte("%YAML 1.1"), rest...)
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithPlugin(nesting{}))
	if err != nil {
		return nil, err
	}
	var doc, more yaml.Node
	if err = loader.Load(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err == nil {
		err = loader.Load(&more)
	}
	if errors.Is(err, io.EOF) {
		c := converter{src: src, made: map[*yaml.Node]*form.Node{}, sizes: map[*form.Node]int{}}
		if body := doc.Content[0]; body.ShortTag() != "!!null" || body.Anchor != "" || body.Value != "" {
			return c.node(body)
		}
		return nil, nil
	}
	if err == nil {
		return nil, src.fault(posOf(&more), "a second document begins here: put everything into one, or into several files of a folder")
	}
	wrong, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		return nil, src.fault(form.Pos{}, "this is not YAML: %v", err)
	}
	at, block := wrong.Mark, strings.HasPrefix(wrong.ContextMsg, "while parsing a block") || strings.Contains(wrong.Message, "a tab")
	if begun := wrong.ContextMark; begun.Line > 0 && begun.Line < at.Line && !block { // what is not closed, rather than where that showed
		at = begun
	}
	if last := bytes.Count(data, []byte("\n")) + 1; at.Line > last { // it ends where more should follow
		at.Line, at.Column = last, len(data)-bytes.LastIndexByte(data, '\n')
	}
	before, after := src.split(at.Line, at.Column)
	return nil, src.fault(form.Pos{Line: at.Line, Column: at.Column}, "this is not YAML: %s%s", wrong.Message, remedy(wrong.Message, before, after, block))
}

// remedy is what to do about what the library says of the place between two
// parts of a line.
func remedy(message, before, after string, block bool) string {
	switch {
	case strings.HasPrefix(after, "\t"):
		return ": indent with spaces, not with tabs"
	case strings.HasPrefix(after, "*"), message == "found character that cannot start any token" && after != "":
		return ": put text that begins with " + after[:1] + " in quotes"
	case message == "did not find expected alphabetic or numeric character":
		return ": put text that begins with * or & in quotes"
	case message == "mapping values are not allowed in this context":
		return ": put text with a colon in quotes, or mend the indentation"
	case block && strings.TrimSpace(before) == "":
		return ": indent this line like what it belongs to"
	}
	return ""
}

// nesting bounds how deep values nest, before there is anything of them.
type nesting struct{}

var _ yaml.LoaderLimitsPlugin = nesting{}

func (nesting) CheckDepth(depth int, _ *yaml.DepthContext) error {
	if depth > maxNesting {
		return fmt.Errorf("values nest more than %d levels deep: write it flatter", maxNesting)
	}
	return nil
}

func (nesting) CheckAlias(int, int) error { return nil } // see [converter.add]

// converter makes nodes of what the library found. An alias becomes the node that
// it means, so a node may hang in several places.
type converter struct {
	src   *source
	made  map[*yaml.Node]*form.Node // of anchors; nil while their value is being read
	sizes map[*form.Node]int        // of what is in a list or an object, in bytes
}

func posOf(n *yaml.Node) form.Pos { return form.Pos{Line: n.Line, Column: n.Column} }

func (c *converter) node(n *yaml.Node) (*form.Node, error) {
	if n.Kind == yaml.AliasNode {
		value := c.made[n.Alias]
		if value == nil {
			return nil, c.src.fault(posOf(n), "*%[1]s stands inside &%[1]s itself: a value cannot contain itself", n.Value)
		}
		return value, nil
	}
	if n.Style&yaml.TaggedStyle != 0 || n.Tag == "!" {
		return nil, c.src.fault(posOf(n), "the tag %s cannot stand here: write the plain value, and text in quotes", n.Tag)
	}
	out := &form.Node{At: posOf(n)}
	var err error
	switch n.Kind {
	case yaml.SequenceNode:
		err = c.list(n, out)
	case yaml.MappingNode:
		err = c.mapping(n, out)
	default:
		err = c.scalar(n, out)
	}
	if n.Anchor != "" {
		c.made[n] = out
	}
	return out, err
}

func (c *converter) list(n *yaml.Node, out *form.Node) error {
	out.Kind = form.List
	for _, v := range n.Content {
		item, err := c.node(v)
		if err != nil {
			return err
		}
		out.Items = append(out.Items, item)
		if err := c.add(out, item); err != nil {
			return err
		}
	}
	return nil
}

func (c *converter) mapping(n *yaml.Node, out *form.Node) error {
	out.Kind = form.Object
	written := make(map[string]form.Pos, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		at := posOf(n.Content[i])
		key, err := c.key(n.Content[i])
		if err != nil {
			return err
		}
		value, err := c.node(n.Content[i+1])
		if err != nil {
			return err
		}
		if value.Kind == form.Null {
			value = &form.Node{At: at} // it may stand nowhere itself
		}
		if first, twice := written[key]; twice {
			return c.src.fault(at, "key %q stands twice, first on line %d: write it once", key, first.Line)
		}
		written[key] = at
		out.Fields = append(out.Fields, form.Field{Key: key, At: at, Value: value})
		if err := c.add(out, value); err != nil {
			return err
		}
	}
	return nil
}

// key reads a key. One that is not text would have to be made into some.
func (c *converter) key(k *yaml.Node) (string, error) {
	if k.ShortTag() == "!!merge" {
		return "", c.src.fault(posOf(k), "<< is no key of YAML 1.2: write out what it would merge")
	}
	n, err := c.node(k)
	switch {
	case err != nil:
		return "", err
	case n.Kind == form.Text:
		return n.Text, nil
	}
	return "", c.src.fault(posOf(k), "a key is %s: keys are text, in quotes where they look like something else", n.Kind)
}

// add counts item into n, so that aliases of aliases cannot make a small file
// into an endless value.
func (c *converter) add(n, item *form.Node) error {
	c.sizes[n] += 1 + len(item.Text) + c.sizes[item]
	if c.sizes[n] > maxWritten {
		return c.src.fault(n.At, "this is above %d MiB once its aliases are written out: use fewer", maxWritten>>20)
	}
	return nil
}

var (
	// jsonNumber is a number that every reader of YAML and JSON takes for the
	// same one.
	jsonNumber = value.Form(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	// someNumber is what YAML 1.1 or 1.2, or a reader of them, takes for a number.
	someNumber = value.Form(`^[-+]?(0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?|\.[0-9][0-9_]*([eE][-+]?[0-9]+)?|\.(inf|Inf|INF|nan|NaN|NAN))$`)
)

// scalar reads a scalar by YAML 1.2. Numbers that only some readers take for
// numbers, or for other ones, are refused rather than guessed: 007 is 7 for one
// reader and text or octal for another.
func (c *converter) scalar(n *yaml.Node, out *form.Node) error {
	out.Kind, out.Text = form.Text, n.Value
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return nil
	}
	switch n.Value {
	case "", "~", "null", "Null", "NULL":
		out.Kind, out.Text = form.Null, ""
	case "true", "True", "TRUE":
		out.Kind, out.Text = form.Boolean, "true"
	case "false", "False", "FALSE":
		out.Kind, out.Text = form.Boolean, "false"
	default:
		switch {
		case jsonNumber().MatchString(n.Value):
			out.Kind = form.Number
		case someNumber().MatchString(n.Value):
			return c.src.fault(out.At, "this is a number to some readers of YAML, and text or another number to others: write it in plain decimal digits, or in quotes as text")
		}
	}
	return nil
}
