package config

import (
	"bytes"
	"encoding/json"
)

// maxValueBytes bounds a value as JSON: aliases can make it larger than the file.
const maxValueBytes = 16 << 20

// json returns n as JSON, its keys in their order and its numbers as written.
func (r *reader) json(n *node) (json.RawMessage, bool) {
	var b bytes.Buffer
	if !n.writeJSON(&b) {
		r.add(n.at, "the value is above %d MiB: split it", maxValueBytes>>20)
		return nil, false
	}
	return b.Bytes(), true
}

func (n *node) writeJSON(b *bytes.Buffer) bool {
	if b.Len() > maxValueBytes {
		return false
	}
	switch n.kind {
	case null:
		b.WriteString("null")
	case boolean, number:
		b.WriteString(n.text)
	case text:
		b.Write(quote(n.text))
	case list:
		b.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			if !item.writeJSON(b) {
				return false
			}
		}
		b.WriteByte(']')
	case mapping:
		b.WriteByte('{')
		for i, f := range n.fields {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(quote(f.key))
			b.WriteByte(':')
			if !f.value.writeJSON(b) {
				return false
			}
		}
		b.WriteByte('}')
	}
	return true
}

// quote returns s as a JSON string, without the escapes that only HTML needs.
func quote(s string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes, and a buffer takes it
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// any returns n as encoding/json would decode it, numbers as json.Number.
func (n *node) any() any {
	switch n.kind {
	case boolean:
		return n.text == "true"
	case number:
		return json.Number(n.text)
	case text:
		return n.text
	case list:
		out := make([]any, len(n.items))
		for i, item := range n.items {
			out[i] = item.any()
		}
		return out
	case mapping:
		out := make(map[string]any, len(n.fields))
		for _, f := range n.fields {
			out[f.key] = f.value.any()
		}
		return out
	}
	return nil
}
