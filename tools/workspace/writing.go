package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"usher/caps"
	"usher/tools"
)

type writeIn struct {
	Path  caps.Path       `json:"path" jsonschema:"where to write, below w/ or o/, for example w/notes/today"`
	Value json.RawMessage `json:"value" jsonschema:"any JSON value"`
}

type writeOut struct {
	Written bool `json:"written"`
}

func (s *space) write(ctx context.Context, call tools.Call, in writeIn) (writeOut, error) {
	return writeOut{true}, s.change(ctx, call, in.Path, Unwrap(in.Value), replaces)
}

type appendIn struct {
	Path  caps.Path       `json:"path" jsonschema:"the array, below w/ or o/"`
	Value json.RawMessage `json:"value" jsonschema:"any JSON value: the new element"`
}

type appendOut struct {
	Appended bool `json:"appended"`
}

func (s *space) append(ctx context.Context, call tools.Call, in appendIn) (appendOut, error) {
	return appendOut{true}, s.change(ctx, call, in.Path, in.Value, adds)
}

type deleteIn struct {
	Path caps.Path `json:"path" jsonschema:"what to delete, below w/ or o/"`
}

type deleteOut struct {
	Deleted bool `json:"deleted"`
}

func (s *space) delete(ctx context.Context, call tools.Call, in deleteIn) (deleteOut, error) {
	return deleteOut{true}, s.change(ctx, call, in.Path, json.RawMessage("null"), removes)
}

func (s *space) change(ctx context.Context, call tools.Call, path caps.Path, value json.RawMessage, how manner) error {
	r, err := path.Resource()
	if err != nil {
		return err
	}
	if len(value) == 0 {
		return errors.New("value is missing: give any JSON value, null included")
	}
	return s.target(call, r).write(ctx, call.Owner().String(), r, value, how)
}

type copyIn struct {
	From caps.Path `json:"from" jsonschema:"what to copy"`
	To   caps.Path `json:"to" jsonschema:"where to, below w/ or o/"`
}

type copyOut struct {
	Copied bool `json:"copied"`
}

func (s *space) copy(ctx context.Context, call tools.Call, in copyIn) (copyOut, error) {
	from, err := source(call, in.From)
	if err != nil {
		return copyOut{}, err
	}
	to, err := in.To.Resource()
	if err != nil {
		return copyOut{}, err
	}
	owner := call.Owner().String()
	return copyOut{true}, s.target(call, to).copy(ctx, owner, from, owner, to)
}

// Unwrap returns the value that covia:write stores: an object or array is taken out of a string, as
// models often send one in quotes, and stored that way nothing in it could be addressed.
func Unwrap(value json.RawMessage) json.RawMessage {
	if opens := bytes.TrimLeft(value, "\" \t\r\n"); len(opens) > 0 && (opens[0] >= 'a' && opens[0] <= 'z' || opens[0] >= 'A' && opens[0] <= 'Z') {
		return value // as most texts begin
	}
	var text string
	if json.Unmarshal(value, &text) != nil {
		return value
	}
	inner := strings.TrimSpace(text)
	if (strings.HasPrefix(inner, "{") || strings.HasPrefix(inner, "[")) && json.Valid([]byte(inner)) {
		return json.RawMessage(inner)
	}
	return value
}
