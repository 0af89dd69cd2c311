package workspace

import (
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
	r, err := placeOf(in.Path, in.Value)
	if err != nil {
		return writeOut{}, err
	}
	if err := s.target(call, r).write(ctx, call.Owner().String(), r, Unwrapped(in.Value), replaces); err != nil {
		return writeOut{}, err
	}
	return writeOut{true}, nil
}

// Unwrapped is the value that covia:write stores: an object or array is taken out of a string, as
// models often send one in quotes, and stored that way nothing in it could be addressed.
func Unwrapped(value json.RawMessage) json.RawMessage {
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

type appendIn struct {
	Path  caps.Path       `json:"path" jsonschema:"the array, below w/ or o/"`
	Value json.RawMessage `json:"value" jsonschema:"any JSON value: the new element"`
}

type appendOut struct {
	Appended bool `json:"appended"`
}

func (s *space) append(ctx context.Context, call tools.Call, in appendIn) (appendOut, error) {
	r, err := placeOf(in.Path, in.Value)
	if err != nil {
		return appendOut{}, err
	}
	if err := s.target(call, r).write(ctx, call.Owner().String(), r, in.Value, adds); err != nil {
		return appendOut{}, err
	}
	return appendOut{true}, nil
}

type deleteIn struct {
	Path caps.Path `json:"path" jsonschema:"what to delete, below w/ or o/"`
}

type deleteOut struct {
	Deleted bool `json:"deleted"`
}

func (s *space) delete(ctx context.Context, call tools.Call, in deleteIn) (deleteOut, error) {
	r, err := in.Path.Resource()
	if err != nil {
		return deleteOut{}, err
	}
	if err := s.target(call, r).place(ctx, call.Owner().String(), r, nil, removes); err != nil {
		return deleteOut{}, err
	}
	return deleteOut{true}, nil
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
	if err := s.target(call, to).copy(ctx, owner, from, owner, to); err != nil {
		return copyOut{}, err
	}
	return copyOut{true}, nil
}

func placeOf(path caps.Path, value json.RawMessage) (caps.Resource, error) {
	if len(value) == 0 {
		return caps.Resource{}, errors.New("value is missing: give any JSON value, null included")
	}
	return path.Resource()
}
