package wrap

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"usher/caps/value"
	"usher/prompt"
	"usher/runtime"
	"usher/tools/fault"
	"usher/tools/spend"
)

// entry is one line of a cassette: a request, and what came of it. The answer
// stands in as few pieces as it can, so that no secret and no id is in two.
type entry struct {
	Request json.RawMessage `json:"request"`
	answer
}

type answer struct {
	Chunks []runtime.Chunk `json:"chunks,omitempty"`
	Error  *failure        `json:"error,omitempty"` // what ended the answer
}

// rewrite returns the answer with f of each text in its place.
func (a answer) rewrite(f func(string) string) (out answer, err error) {
	raw, err := rewrite(a, f)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	return out, err
}

// canonical is a request as JSON with its keys in order: equal for requests that
// mean the same to a model.
func canonical(req *runtime.Request) ([]byte, error) {
	return rewrite(req, func(text string) string { return text })
}

// comparable is a request as a cassette has it: without secrets, and without the
// date and the names of the venue and the model that [prompt.System] writes.
func comparable(req *runtime.Request, scrub func(string) string) ([]byte, error) {
	undated := *req
	undated.System = prompt.Unset(req.System)
	return rewrite(&undated, scrub)
}

// rewrite returns a value as JSON with f of each text in its place, and its keys in
// order.
func rewrite(of any, f func(string) string) ([]byte, error) {
	raw, err := json.Marshal(of)
	if err != nil {
		return nil, err
	}
	v, err := value.Decode(raw, value.MaxDepth)
	if err != nil {
		return nil, err
	}
	return value.Append(nil, texts(v, f)), nil
}

func texts(v any, f func(string) string) any {
	switch v := v.(type) {
	case string:
		return f(v)
	case []any:
		for i := range v {
			v[i] = texts(v[i], f)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			v[key] = texts(v[key], f)
		}
	}
	return v
}

// idForm is that of the ids which a venue gives to jobs and sessions: ULIDs.
var idForm = value.Form(`\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b`)

// numberIDs puts the number of its first appearance in the place of each id, so
// that requests which differ in ids alone are the same, and returns the ids.
func numberIDs(request json.RawMessage) (text string, ids []string) {
	out, _ := rewrite(request, func(text string) string { // it was JSON before
		return idForm().ReplaceAllStringFunc(text, func(id string) string {
			n := slices.Index(ids, id)
			if n < 0 {
				n = len(ids)
				ids = append(ids, id)
			}
			return "\x00id " + strconv.Itoa(n+1) + "\x00" // no text has these
		})
	})
	return string(out), ids
}

// readCassette reads the lines of a cassette.
func readCassette(r io.Reader) (out []entry, err error) {
	lines := json.NewDecoder(r)
	lines.DisallowUnknownFields()
	for {
		var e entry
		switch err := lines.Decode(&e); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("read cassette: line %d: %w", len(out)+1, err)
		}
		out = append(out, e)
	}
}

// failure is an error as a cassette has it. It reads as it did, has the code that
// it had, and is a [runtime.ErrWindow] or a [spend.BudgetError] where it was.
type failure struct {
	Message string          `json:"message"`
	Is      fault.Code      `json:"code,omitempty"`
	Said    json.RawMessage `json:"details,omitempty"`
	Passing bool            `json:"temporary,omitempty"`
}

var (
	_ temporary      = (*failure)(nil)
	_ fault.Detailer = (*failure)(nil)
)

func failureOf(err error) *failure {
	out := &failure{Message: err.Error(), Is: fault.Of(err)}
	if errors.Is(err, runtime.ErrWindow) {
		out.Is = fault.Window
	}
	if detailed, ok := errors.AsType[fault.Detailer](err); ok {
		out.Said, _ = json.Marshal(detailed.Details()) // without them the code is still told
	}
	var passing temporary
	out.Passing = errors.As(err, &passing) && passing.Temporary()
	return out
}

func (e *failure) Error() string    { return e.Message }
func (e *failure) Code() fault.Code { return e.Is }
func (e *failure) Temporary() bool  { return e.Passing }

func (e *failure) Details() any {
	if e.Said == nil {
		return nil
	}
	return e.Said
}

// Unwrap returns what the error was beside its text, or nil.
func (e *failure) Unwrap() error {
	if e.Is == fault.Window {
		return runtime.ErrWindow
	}
	spent := new(spend.BudgetError)
	if e.Is == fault.BudgetSpent && json.Unmarshal(e.Said, spent) == nil {
		return spent
	}
	return nil
}
