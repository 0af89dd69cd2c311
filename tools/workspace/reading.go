package workspace

import (
	"context"
	"encoding/json"
	"fmt"

	"usher/caps"
	"usher/tools"
)

// Defaults and bounds of the operations' inputs.
const (
	defaultMaxSize = 1_000_000
	largestMaxSize = 16 << 20
	defaultKeys    = 1000
	defaultValues  = 100
	largestLimit   = 10_000
	defaultBudget  = 500
	smallestBudget = 10
	largestBudget  = 100_000
)

type readIn struct {
	Path    caps.Path `json:"path" jsonschema:"what to read, for example w/notes/today or [\"w\",\"notes\",\"today\"]"`
	MaxSize int64     `json:"maxSize,omitempty" jsonschema:"the largest JSON to return, in bytes (default 1000000)"`
}

type readOut struct {
	Exists    bool            `json:"exists"`
	Value     json.RawMessage `json:"value,omitzero"`
	Truncated bool            `json:"truncated,omitempty"`
	Size      int64           `json:"size,omitempty"`
}

func (s *space) read(ctx context.Context, call tools.Call, in readIn) (readOut, error) {
	if err := checkBounds("maxSize", &in.MaxSize, defaultMaxSize, 1, largestMaxSize); err != nil {
		return readOut{}, err
	}
	r, err := source(call, in.Path)
	if err != nil {
		return readOut{}, err
	}
	text := &sink{limit: in.MaxSize}
	rev, err := s.treeFor(call).get(ctx, call.Owner().String(), r, text)
	switch {
	case err != nil || rev == 0:
		return readOut{}, err
	case text.over():
		return readOut{Exists: true, Value: json.RawMessage("null"), Truncated: true, Size: text.size}, nil
	}
	return readOut{Exists: true, Value: text.buf}, nil
}

// checkBounds puts the default in place of 0 and refuses what is out of bounds.
func checkBounds(field string, n *int64, byDefault, least, most int64) error {
	if *n == 0 {
		*n = byDefault
	}
	if *n < least || *n > most {
		return fmt.Errorf("%s is %d: it must be from %d to %d", field, *n, least, most)
	}
	return nil
}
