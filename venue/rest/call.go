package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"usher/caps/value"
	"usher/tools"
	"usher/tools/fault"
	"usher/venue"
	"usher/venue/face"
)

func invalid(format string, args ...any) error {
	return fault.New(fault.InvalidInput, fmt.Sprintf(format, args...))
}

// answer sends a result.
func answer(w http.ResponseWriter, status int, result any) error {
	return face.Answer(w, face.JSON, status, result)
}

// operate calls the operation that a route is.
func (f *Face) operate(rt *route, p *venue.Principal, w http.ResponseWriter, r *http.Request) error {
	input, err := rt.input(f, w, r)
	if err != nil {
		return err
	}
	out, err := p.Invoke(r.Context(), rt.op, input)
	if err != nil {
		return err
	}
	return answer(w, max(rt.status, http.StatusOK), out)
}

// body reads the body, which is left out or a JSON object.
func body(w http.ResponseWriter, r *http.Request) (json.RawMessage, error) {
	raw, err := face.Body(w, r)
	if err != nil {
		return nil, err
	}
	if len(raw) == 0 {
		return json.RawMessage("{}"), nil
	}
	if err := tools.CheckObject(raw); err != nil {
		return nil, invalid("the body is no JSON object: %v", err)
	}
	return raw, nil
}

var inPath = value.Form(`\{([A-Za-z]+)(?:\.\.\.)?\}`)

// input is the input of the operation that a route is: its body, with the fields that the
// path and the query have. A field stands in one of them.
func (rt *route) input(f *Face, w http.ResponseWriter, r *http.Request) (json.RawMessage, error) {
	raw, err := body(w, r)
	if err != nil {
		return nil, err
	}
	types := f.fields[rt.op]
	more := make(map[string]json.RawMessage)
	for _, found := range inPath().FindAllStringSubmatch(rt.path, -1) {
		if more[found[1]], err = types.read(found[1], r.PathValue(found[1])); err != nil {
			return nil, err
		}
	}
	for name, values := range r.URL.Query() {
		if !slices.Contains(rt.query, name) {
			return nil, invalid("the query has %q, which is not known here: it takes %v", name, rt.query)
		}
		if len(values) > 1 {
			return nil, invalid("the query has %s several times: give it once", name)
		}
		if more[name], err = types.read(name, values[0]); err != nil {
			return nil, err
		}
	}
	if len(more) == 0 {
		return raw, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, invalid("the body is no JSON object: %v", err)
	}
	for name, v := range more {
		if _, twice := all[name]; twice {
			return nil, invalid("%s stands in the address and in the body: leave it out of the body", name)
		}
		all[name] = v
	}
	return json.Marshal(all)
}

// fields are the types of the fields of an input, by name.
type fields map[string]kinds

// kinds are the types that JSON Schema names for a value, as one or as a list.
type kinds []string

// UnmarshalJSON reads one name or several.
func (k *kinds) UnmarshalJSON(raw []byte) error {
	var one string
	if err := json.Unmarshal(raw, &one); err == nil {
		*k = kinds{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(k))
}

// fieldsOf reads the input schema of an operation.
func fieldsOf(op *tools.Operation) (fields, error) {
	var schema struct {
		Properties map[string]struct {
			Type kinds `json:"type"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(op.InputSchema(), &schema); err != nil {
		return nil, err
	}
	types := make(fields, len(schema.Properties))
	for name, p := range schema.Properties {
		types[name] = p.Type
	}
	return types, nil
}

// read is a text of an address as the value that a field of the input takes.
func (t fields) read(name, text string) (json.RawMessage, error) {
	is := func(kind string) bool { return slices.Contains(t[name], kind) }
	switch {
	case is("integer"):
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return strconv.AppendInt(nil, n, 10), nil
		} else if !is("string") {
			return nil, invalid("%s is %q in the address: give a whole number", name, value.Cut(text, 40))
		}
	case is("boolean"):
		if text == "true" || text == "false" {
			return json.RawMessage(text), nil
		}
		return nil, invalid("%s is %q in the address: give true or false", name, value.Cut(text, 40))
	}
	return value.AppendString(nil, text), nil
}
