package rest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"usher/caps/value"
	"usher/tools"
	"usher/venue"
	"usher/venue/face"
)

// object is an object of JSON that is written once.
type object = map[string]any

// schema is a JSON Schema, as OpenAPI 3.1 takes it.
type schema struct {
	Type                 any                        `json:"type,omitempty"`
	Properties           map[string]json.RawMessage `json:"properties,omitempty"`
	Required             []string                   `json:"required,omitempty"`
	AdditionalProperties json.RawMessage            `json:"additionalProperties,omitempty"`
	Defs                 json.RawMessage            `json:"$defs,omitempty"`
	OneOf                json.RawMessage            `json:"oneOf,omitempty"`
	AnyOf                json.RawMessage            `json:"anyOf,omitempty"`
	AllOf                json.RawMessage            `json:"allOf,omitempty"`
}

var wildcard = value.Form(`\.\.\.\}`)

// document is the OpenAPI 3.1 document of the routes, with the schemas of the operations
// that they are.
func document(ops map[string]*tools.Operation) (json.RawMessage, error) {
	paths := make(object)
	for i := range routes {
		rt := &routes[i]
		at := Prefix + wildcard().ReplaceAllString(rt.path, "}")
		item, _ := paths[at].(object)
		if item == nil {
			item = make(object)
			paths[at] = item
		}
		said, err := rt.document(ops[rt.op])
		if err != nil {
			return nil, fmt.Errorf("document %s %s: %w", rt.method, rt.path, err)
		}
		item[strings.ToLower(rt.method)] = said
	}
	return json.Marshal(object{
		"openapi":  "3.1.0",
		"info":     object{"title": "Usher", "version": "1", "description": "A venue whose every call shows its ticket. Errors are problem details (RFC 9457)."},
		"paths":    paths,
		"security": []object{{"bearer": []string{}}},
		"components": object{
			"securitySchemes": object{"bearer": object{"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
			"schemas": object{"Problem": object{
				"type": "object", "required": []string{"type", "title", "status", "detail", "error", "message", "retryable"},
				"description": "RFC 9457, with what a model is told of the same error.",
				"properties": object{
					"type": text(), "title": text(), "detail": text(), "error": text(), "message": text(), "hint": text(), "boundedBy": text(),
					"status": object{"type": "integer"}, "retryable": object{"type": "boolean", "description": "whether the call may succeed when it is made again, corrected where it was wrong"},
					"operation": text(), "ability": text(), "resource": text(),
					"capabilities": object{"type": []string{"array", "null"}, "description": "of a denial: what the caller may do"},
					"details":      object{"description": "more, where there is more to tell"},
				},
			}},
			"responses": object{"Problem": object{
				"description": "What went wrong.",
				"headers":     object{"Retry-After": header("Seconds, where the call may be made again soon."), "WWW-Authenticate": header("How to prove who you are, where nobody knows.")},
				"content":     object{"application/problem+json": object{"schema": object{"$ref": "#/components/schemas/Problem"}}},
			}},
		},
	})
}

func text() object { return object{"type": "string"} }

// header describes a header of an answer.
func header(what string) object { return object{"description": what, "schema": text()} }

// headerParameter describes a header of a request, which may be left out.
func headerParameter(name, what string) object {
	return object{"name": name, "in": "header", "required": false, "description": what, "schema": text()}
}

// document is the operation object of a route. op is nil where it is one of its own.
func (rt *route) document(op *tools.Operation) (object, error) {
	var in, out json.RawMessage
	said := object{"operationId": rt.id(), "summary": rt.summary}
	if op != nil {
		in, out = op.InputSchema(), op.OutputSchema()
		said["operationId"], said["summary"] = op.ToolName(), op.Description()
	} else {
		in, out = json.RawMessage(rt.in), json.RawMessage(rt.out)
	}
	var fields schema
	if len(in) > 0 {
		if err := json.Unmarshal(in, &fields); err != nil {
			return nil, err
		}
	}
	var params []object
	take := func(name, where string, required bool) {
		s := fields.Properties[name]
		if s == nil {
			s = json.RawMessage(`{"type":"string"}`)
		}
		params = append(params, object{"name": name, "in": where, "required": required, "schema": s})
		if op == nil && where == "query" {
			return // the body may have it, too
		}
		delete(fields.Properties, name)
		fields.Required = slices.DeleteFunc(fields.Required, func(r string) bool { return r == name })
	}
	for _, found := range inPath().FindAllStringSubmatch(rt.path, -1) {
		take(found[1], "path", true)
	}
	for _, name := range rt.query {
		take(name, "query", slices.Contains(fields.Required, name))
	}
	params = append(params, headerParameter(face.ProofsHeader, "Tokens that delegate something to you, between commas."))
	if rt.method == http.MethodPost {
		params = append(params, headerParameter(face.OnceHeader, "A name of your own for this request, at most 255 signs: sent again within a day it is answered the same, and nothing is done twice."))
	}
	if rt.media == "text/event-stream" {
		params = append(params, headerParameter("Last-Event-ID", "The id of the last event that you have: what follows it is sent."))
	}
	said["parameters"] = params
	if rt.method != http.MethodGet && rt.method != http.MethodDelete && len(fields.Properties) > 0 {
		said["requestBody"] = object{"required": len(fields.Required) > 0, "content": object{"application/json": object{"schema": fields}}}
	}
	responses := object{"default": object{"$ref": "#/components/responses/Problem"}}
	add := func(status int, what, media string, schema json.RawMessage) {
		answer := object{"description": what}
		switch {
		case media == "text/event-stream" || media == "text/html":
			answer["content"] = object{media: object{"schema": text()}}
		case status == http.StatusNoContent:
		case len(schema) > 0:
			answer["content"] = object{media: object{"schema": schema}}
		default:
			answer["content"] = object{media: object{}}
		}
		if rt.path == "/invoke" {
			answer["headers"] = object{"Location": header("Where the job is, if there is one.")}
		}
		responses[strconv.Itoa(status)] = answer
	}
	add(max(rt.status, http.StatusOK), "What it came to.", cmp.Or(rt.media, "application/json"), out)
	for _, a := range rt.also {
		add(a.status, a.what, "application/json", json.RawMessage(a.schema))
	}
	said["responses"] = responses
	return said, nil
}

// id names a route that is no operation.
func (rt *route) id() string {
	words := strings.FieldsFunc(rt.path, func(r rune) bool { return r == '/' || r == '{' || r == '}' || r == '.' })
	return strings.ToLower(rt.method) + "_" + strings.Join(words, "_")
}

// sendDocument sends the document.
func (f *Face) sendDocument(_ *venue.Principal, w http.ResponseWriter, _ *http.Request) error {
	return answer(w, http.StatusOK, f.openAPI)
}
