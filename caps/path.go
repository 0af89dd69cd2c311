package caps

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"usher/caps/value"
)

var errNoPath = errors.New("path is missing: give it as a string or as an array of segments")

// Path is a [Resource] as the input of an operation spells it: a JSON string, a
// JSON array of segments, or absent, which null means too. A path that is not
// well-formed decodes all the same; its error comes out of [Path.Resource], so
// that it is reported as an input error of the call and not of the JSON.
type Path struct {
	resource Resource
	raw      []byte // as it came, where err is set
	given    bool
	err      error
}

// IsPresent reports whether there was a path, well-formed or not. The empty string
// is one: it means the root.
func (p Path) IsPresent() bool { return p.given }

// IsZero reports that no path was given (for omitzero).
func (p Path) IsZero() bool { return !p.given }

// Resource returns the resource meant. It is an error where the path is
// malformed, and where there is none.
func (p Path) Resource() (Resource, error) {
	if !p.given {
		return Resource{}, errNoPath
	}
	return p.resource, p.err
}

// String returns the canonical text, or what came, quoted, where it is
// malformed.
func (p Path) String() string {
	if p.err != nil {
		return value.Quote(string(p.raw))
	}
	return p.resource.String()
}

// UnmarshalJSON keeps what it reads. It fails on data that is not JSON only.
func (p *Path) UnmarshalJSON(data []byte) error {
	*p = Path{}
	if !json.Valid(data) {
		return errors.New("path is not JSON: give a string or an array of segments")
	}
	data = bytes.TrimSpace(data)
	if string(data) == "null" {
		return nil
	}
	p.given = true
	p.resource, p.err = decodePath(data)
	if p.err != nil {
		p.raw = bytes.Clone(data)
	}
	return nil
}

// MarshalJSON writes the canonical text, null where no path was given, and what
// came where that is malformed.
func (p Path) MarshalJSON() ([]byte, error) {
	switch {
	case !p.given:
		return []byte("null"), nil
	case p.err != nil:
		return p.raw, nil //nolint:nilerr // the error belongs to the path, which is written as it came
	}
	return json.Marshal(p.resource.String())
}

func decodePath(data []byte) (Resource, error) {
	v, err := value.Decode(data, maxNesting)
	if err != nil {
		return Resource{}, fmt.Errorf("path: %w", err)
	}
	switch v := v.(type) {
	case string:
		return ParseResource(v)
	case []any:
		segs := make([]string, len(v))
		for i, elem := range v {
			seg, ok := elem.(string)
			if !ok {
				return Resource{}, fmt.Errorf("path segment %d is %s: write it as a string", i, value.A(elem))
			}
			segs[i] = seg
		}
		return ParseSegments(segs)
	}
	return Resource{}, fmt.Errorf("path is %s: give a string or an array of segments", value.A(v))
}
