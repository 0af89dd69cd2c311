package form

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"usher/caps/value"
)

// Kind is the kind of a JSON value.
type Kind uint8

// Kinds of values.
const (
	Null Kind = iota
	Boolean
	Number
	Text
	List
	Object
)

// String is what a value of the kind is called.
func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "text", "a list", "an object"}[k]
}

// Pos is where a value stands in a text, from 1. The zero Pos is unknown.
type Pos struct{ Line, Column int }

// Node is a JSON value as it was written: the keys of an object in their order,
// numbers in their own spelling. Nobody changes a node that was made.
type Node struct {
	Kind   Kind
	Text   string // of a boolean, a number or a text
	Items  []*Node
	Fields []Field
	At     Pos
}

// Field is one field of an object.
type Field struct {
	Key   string
	At    Pos // of the key
	Value *Node
}

// Get returns the value of a key, or nil.
func (n *Node) Get(key string) *Node {
	for i := range n.Fields {
		if n.Fields[i].Key == key {
			return n.Fields[i].Value
		}
	}
	return nil
}

// Part returns the value of a key of an object, or an entry of a list by its
// number; nil where there is none.
func (n *Node) Part(name string) *Node {
	if i, err := strconv.Atoi(name); err == nil && n.Kind == List && 0 <= i && i < len(n.Items) {
		return n.Items[i]
	}
	return n.Get(name)
}

// JSON returns n as JSON, its keys in their order and its numbers as written.
func (n *Node) JSON() json.RawMessage { return n.append(nil) }

// append writes n behind dst.
func (n *Node) append(dst []byte) []byte {
	switch n.Kind {
	case Null:
		return append(dst, "null"...)
	case Text:
		return value.AppendString(dst, n.Text)
	case List:
		dst = append(dst, '[')
		for i, item := range n.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.append(dst)
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		for i, f := range n.Fields {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(value.AppendString(dst, f.Key), ':')
			dst = f.Value.append(dst)
		}
		return append(dst, '}')
	}
	return append(dst, n.Text...)
}

// plain returns n as encoding/json would decode it, numbers as [json.Number].
func (n *Node) plain() any {
	switch n.Kind {
	case Boolean:
		return n.Text == "true"
	case Number:
		return json.Number(n.Text)
	case Text:
		return n.Text
	case List:
		out := make([]any, len(n.Items))
		for i, item := range n.Items {
			out[i] = item.plain()
		}
		return out
	case Object:
		out := make(map[string]any, len(n.Fields))
		for _, f := range n.Fields {
			out[f.Key] = f.Value.plain()
		}
		return out
	}
	return nil
}

// parse reads one JSON value. The keys of its objects come sorted.
func parse(raw []byte) (*Node, error) {
	v, err := value.Decode(raw, value.MaxDepth)
	if err != nil {
		return nil, err
	}
	return Of(v), nil
}

// Of is the node of a Go value that stands for one of JSON.
func Of(v any) *Node {
	switch v := v.(type) {
	case bool:
		return &Node{Kind: Boolean, Text: strconv.FormatBool(v)}
	case json.Number, int, int64, uint64, float64:
		return &Node{Kind: Number, Text: fmt.Sprint(v)}
	case string:
		return &Node{Kind: Text, Text: v}
	case []any:
		n := &Node{Kind: List, Items: make([]*Node, len(v))}
		for i, item := range v {
			n.Items[i] = Of(item)
		}
		return n
	case map[string]any:
		n := &Node{Kind: Object, Fields: make([]Field, 0, len(v))}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			n.Fields = append(n.Fields, Field{Key: key, Value: Of(v[key])})
		}
		return n
	}
	return new(Node)
}
