package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

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
	if err := bounded("maxSize", &in.MaxSize, defaultMaxSize, 1, largestMaxSize); err != nil {
		return readOut{}, err
	}
	r, err := source(call, in.Path)
	if err != nil {
		return readOut{}, err
	}
	text := &sink{limit: in.MaxSize}
	rev, err := s.charged(call).get(ctx, call.Owner().String(), r, text)
	switch {
	case err != nil || rev == 0:
		return readOut{}, err
	case text.over():
		return readOut{Exists: true, Value: json.RawMessage("null"), Truncated: true, Size: text.size}, nil
	}
	return readOut{Exists: true, Value: text.buf}, nil
}

type inspectIn struct {
	Paths   json.RawMessage `json:"paths" jsonschema:"a path, or an array of paths"`
	Budget  int64           `json:"budget,omitempty" jsonschema:"bytes of text for all paths together (default 500, at least 10)"`
	Compact *bool           `json:"compact,omitzero" jsonschema:"one line for each value (default true)"`
}

type inspectOut struct {
	Result any `json:"result"`
}

func (s *space) inspect(ctx context.Context, call tools.Call, in inspectIn) (inspectOut, error) {
	if err := bounded("budget", &in.Budget, defaultBudget, smallestBudget, largestBudget); err != nil {
		return inspectOut{}, err
	}
	paths, err := pathList(in.Paths)
	if err != nil {
		return inspectOut{}, err
	}
	v, err := s.charged(call).look(ctx)
	if err != nil {
		return inspectOut{}, err
	}
	defer v.close()
	share := max(smallestBudget, int(in.Budget)/len(paths))
	texts := make(map[string]string, len(paths))
	for _, p := range paths {
		r, err := source(call, p)
		if err != nil {
			return inspectOut{}, err
		}
		n, rev, err := v.resolve(ctx, call.Owner().String(), r)
		text := "/* nothing here */"
		if err == nil && rev != 0 {
			text, err = renderer{v, in.Compact == nil || *in.Compact}.render(ctx, n, share, 0)
		}
		if err != nil {
			return inspectOut{}, err
		}
		texts[p.String()] = text
	}
	if strings.HasPrefix(strings.TrimSpace(string(in.Paths)), "[") {
		return inspectOut{texts}, nil
	}
	return inspectOut{texts[paths[0].String()]}, nil
}

// bounded puts the default in place of 0 and refuses what is out of bounds.
func bounded(field string, n *int64, byDefault, least, most int64) error {
	if *n == 0 {
		*n = byDefault
	}
	if *n < least || *n > most {
		return fmt.Errorf("%s is %d: it must be from %d to %d", field, *n, least, most)
	}
	return nil
}
