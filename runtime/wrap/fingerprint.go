package wrap

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"hash"
	"slices"
	"strconv"

	"usher/runtime"
)

// fingerprint is equal for requests that mean the same to a model: schemas
// are compared as JSON values, everything else as bytes. Each part goes in
// with its length, so that no two requests run together into one.
func fingerprint(req *runtime.Request) [sha256.Size]byte {
	h := digest{sha256.New()}
	h.text(req.System)
	h.count(len(req.Messages))
	for _, m := range req.Messages {
		h.text(m.Role, m.Text, m.Reasoning, m.CallID, m.Name, strconv.FormatBool(m.Failed))
		h.count(len(m.Calls))
		for _, c := range m.Calls {
			h.text(c.ID, c.Name, c.Arguments)
		}
	}
	h.count(len(req.Tools))
	for _, t := range req.Tools {
		h.text(t.Name, t.Description, canonicalJSON(t.Input))
	}
	h.text(canonicalJSON(req.Output))
	return [sha256.Size]byte(h.Sum(nil))
}

type digest struct{ hash.Hash }

func (d digest) count(n int) {
	_ = binary.Write(d, binary.BigEndian, uint64(n)) // a hash takes everything
}

func (d digest) text(parts ...string) {
	for _, p := range parts {
		d.count(len(p))
		d.Write([]byte(p))
	}
}

// canonicalJSON prints a JSON value with sorted keys, indented; what is not
// one JSON value is returned as it is.
func canonicalJSON(raw json.RawMessage) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if !json.Valid(raw) || dec.Decode(&v) != nil {
		return string(raw)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if enc.Encode(v) != nil {
		return string(raw)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// clone copies a request for use beyond the call that it came with.
func clone(req *runtime.Request) *runtime.Request {
	out := &runtime.Request{
		System: req.System, Messages: slices.Clone(req.Messages),
		Tools: slices.Clone(req.Tools), Output: slices.Clone(req.Output),
	}
	for i := range out.Messages {
		out.Messages[i].Calls = slices.Clone(out.Messages[i].Calls)
	}
	for i := range out.Tools {
		out.Tools[i].Input = slices.Clone(out.Tools[i].Input)
	}
	return out
}
