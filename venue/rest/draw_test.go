package rest_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
)

// vast is a number of JSON that no float64 has.
var vast = "1" + strings.Repeat("0", 400)

// draw draws requests from an OpenAPI document: right ones, ones that are nearly right, and
// junk.
type draw struct {
	*rand.Rand
	ops   []drawnOp
	pools map[string][]string // values of parameters that may lead somewhere
	calls []drawnCall         // of /invoke
}

// drawnOp is an operation of the document.
type drawnOp struct {
	method, path string
	params       []drawnParam
	body         map[string]any // JSON Schema; nil takes none
}

type drawnParam struct {
	Name, In string
	Required bool
	Schema   map[string]any
}

// drawnCall is an operation of the venue, with the schema of its input.
type drawnCall struct {
	name  string
	input map[string]any
}

// readDocument lists the operations of a document.
func readDocument(raw []byte) (ops []drawnOp, err error) {
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters  []drawnParam
			RequestBody struct {
				Content map[string]struct{ Schema map[string]any }
			}
		}
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, err
	}
	for path, item := range doc.Paths {
		for method, op := range item {
			ops = append(ops, drawnOp{strings.ToUpper(method), path, op.Parameters, op.RequestBody.Content["application/json"].Schema})
		}
	}
	slices.SortFunc(ops, func(x, y drawnOp) int { return strings.Compare(x.path+x.method, y.path+y.method) })
	return ops, nil
}

// junk are texts that somebody may send anywhere.
var junk = []string{
	"", " ", "x", "null", "true", "0", "-1", "1e999", "9223372036854775808", "..", "../..", "%2e%2e", "a/b", "a//b", "/", "\x00", "\u202e", "é", "e\u0301",
	"*", "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK", "did:web:x", "w/a", "{", "\"", "'", "<script>", strings.Repeat("a", 2000), strings.Repeat("/a", 300), "\xff\xfe",
}

func pick[T any](d *draw, list []T) T { return list[d.IntN(len(list))] }

// text is a value of a parameter, or of a field.
func (d *draw) text(name string) string {
	switch pool := d.pools[name]; {
	case d.IntN(12) == 0:
		return pick(d, junk)
	case len(pool) > 0:
		return pick(d, pool)
	}
	return pick(d, []string{"a", "w/a", "bob", "main", "covia:read", "1h", "hi"})
}

// value is a value of a schema, mostly.
func (d *draw) value(name string, schema map[string]any, deep int) any {
	if deep > 6 {
		return nil
	}
	if d.IntN(25) == 0 { // another
		return pick(d, []any{nil, true, -1, 1e300, pick(d, junk), []any{}, map[string]any{}, []any{[]any{map[string]any{"a": nil}}}, json.Number(vast)})
	}
	if list, ok := schema["enum"].([]any); ok {
		return pick(d, list)
	}
	var kinds []string
	switch is := schema["type"].(type) {
	case string:
		kinds = []string{is}
	case []any:
		for _, k := range is {
			kinds = append(kinds, fmt.Sprint(k))
		}
	default:
		kinds = []string{"string", "integer", "object", "array", "boolean", "null"}
	}
	switch pick(d, kinds) {
	case "string":
		return d.text(name)
	case "integer":
		return pick(d, []int{0, 1, 2, 10, 1000, 1001, -1})
	case "number":
		return pick(d, []float64{0, 0.01, 1, 121})
	case "boolean":
		return d.IntN(2) == 0
	case "array":
		items, _ := schema["items"].(map[string]any)
		list := []any{}
		for range d.IntN(3) {
			list = append(list, d.value(name, items, deep+1))
		}
		return list
	case "object":
		return d.object(schema, deep)
	}
	return nil
}

func (d *draw) object(schema map[string]any, deep int) map[string]any {
	out := make(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range properties {
			if !yield(name) {
				return
			}
		}
	}) {
		of, _ := properties[name].(map[string]any)
		if must := slices.Contains(required, any(name)); must && d.IntN(20) > 0 || !must && d.IntN(3) == 0 {
			out[name] = d.value(name, of, deep+1)
		}
	}
	if d.IntN(15) == 0 {
		out[pick(d, []string{"x", "", "__proto__", "path", "id"})] = d.value("x", nil, deep+1)
	}
	return out
}

// request draws a request. Its path and its body are as they are sent.
func (d *draw) request() (op *drawnOp, path, body string) {
	op = &d.ops[d.IntN(len(d.ops))]
	path = op.path
	query := make(url.Values)
	for _, p := range op.params {
		switch {
		case p.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(d.text(p.Name)))
		case p.In == "query" && (p.Required || d.IntN(3) == 0):
			text := fmt.Sprint(d.value(p.Name, p.Schema, 0))
			query.Add(p.Name, text[:min(len(text), 4000)])
			if d.IntN(30) == 0 {
				query.Add(p.Name, "again")
			}
		}
	}
	if d.IntN(25) == 0 {
		query.Add(pick(d, []string{"x", "limit", "path", ""}), pick(d, junk))
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	switch {
	case d.IntN(25) == 0:
		return op, path, pick(d, []string{"{", "[]", "null", "\"x\"", "{\"a\":1,\"a\":2}", "\xff", strings.Repeat("[", 2000), "{}{}", strings.Repeat(" ", 100)})
	case op.body == nil:
		return op, path, ""
	}
	out := d.object(op.body, 0)
	if _, calls := out["operation"]; calls && d.IntN(10) > 0 {
		call := pick(d, d.calls)
		out["operation"], out["input"] = call.name, d.object(call.input, 1)
		delete(out, "ucans")
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return op, path, "{"
	}
	return op, path, string(raw)
}
