package workspace

import (
	"encoding/json"
	"errors"
	"fmt"

	"usher/caps/value"
)

// normal turns a Go value into one that [value.Append] writes. Raw JSON is decoded; anything else
// goes through encoding/json first.
func normal(v any) (any, error) {
	raw, isRaw := v.(json.RawMessage)
	if !isRaw {
		var err error
		if raw, err = json.Marshal(v); err != nil {
			return nil, fmt.Errorf("encode value: %w", err)
		}
	}
	out, err := value.Decode(raw, value.MaxDepth)
	if errors.Is(err, value.ErrTooDeep) {
		return nil, fmt.Errorf("the value nests deeper than %d levels: write its parts under paths of their own", value.MaxDepth)
	}
	if err != nil {
		return nil, fmt.Errorf("parse value: %w", err)
	}
	return out, nil
}

// maxStored bounds how deep a leaf nests: as deep as a value, below the maps of the longest path.
const maxStored = value.MaxDepth + 1024

// parse reads a leaf.
func parse(leaf []byte) (any, error) { return value.Decode(leaf, maxStored) }
