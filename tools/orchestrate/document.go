package orchestrate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"usher/tools"
)

// Limits of a document.
const (
	MaxBytes = 256 << 10
	MaxSteps = 256
)

// Adapter is the value of operation.adapter that makes a document an
// orchestration.
const Adapter = "orchestrator"

type document struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Type        string          `json:"type"`
	Operation   json.RawMessage `json:"operation"`
}

type body struct {
	Adapter string            `json:"adapter"`
	Input   json.RawMessage   `json:"input"`
	Output  json.RawMessage   `json:"output"`
	Steps   []json.RawMessage `json:"steps"`
	Result  json.RawMessage   `json:"result"`
}

type stepDocument struct {
	Op     string          `json:"op"`
	Input  json.RawMessage `json:"input"`
	Name   string          `json:"name"`
	Strict bool            `json:"strict"`
	After  []int           `json:"after"`
}

var (
	documentKeys = []string{"name", "description", "type", "operation"}
	bodyKeys     = []string{"adapter", "input", "output", "steps", "result"}
	stepKeys     = []string{"op", "input", "name", "strict", "after"}
)

func parse(doc json.RawMessage) (*Plan, error) {
	if len(doc) > MaxBytes {
		return nil, fmt.Errorf("it has %d bytes, %d is the most: split it into several", len(doc), MaxBytes)
	}
	var d document
	if err := strict(doc, "", documentKeys, &d); err != nil {
		return nil, err
	}
	if d.Type != "" && d.Type != "orchestration" {
		return nil, fmt.Errorf(`type: is %q: write "orchestration"`, d.Type)
	}
	if len(d.Operation) == 0 {
		return nil, errors.New(`operation: is missing: write {"adapter":"orchestrator","steps":[…]}`)
	}
	var b body
	if err := strict(d.Operation, "operation", bodyKeys, &b); err != nil {
		return nil, err
	}
	if b.Adapter != Adapter {
		return nil, fmt.Errorf("operation.adapter: is %q: write %q", b.Adapter, Adapter)
	}
	if len(b.Steps) == 0 {
		return nil, errors.New(`operation.steps: there are none: write at least one, for example [{"op":"covia:read","input":{"path":"w/notes"}}]`)
	}
	if len(b.Steps) > MaxSteps {
		return nil, fmt.Errorf("operation.steps: there are %d, %d is the most: move some into an orchestration of their own", len(b.Steps), MaxSteps)
	}
	p := &Plan{title: d.Name, description: d.Description}
	if err := p.schemas(b); err != nil {
		return nil, err
	}
	if err := p.readSteps(b.Steps); err != nil {
		return nil, err
	}
	return p, p.readResult(b.Result)
}

// strict decodes an object that may have the known keys alone, each once.
func strict(raw json.RawMessage, at string, known []string, into any) error {
	if trimmed := bytes.TrimLeft(raw, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' || !json.Valid(raw) {
		return prefix(at, errors.New("it is not a JSON object"))
	}
	if err := tools.CheckKeys(raw, known); err != nil {
		return prefix(at, err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		var typeErr *json.UnmarshalTypeError
		if errors.As(err, &typeErr) && typeErr.Field != "" {
			return prefix(join(at, typeErr.Field), fmt.Errorf("a JSON %s does not fit here", typeErr.Value))
		}
		return prefix(at, err)
	}
	return nil
}

func prefix(at string, err error) error {
	if at == "" {
		return err
	}
	return fmt.Errorf("%s: %w", at, err)
}

func join(at, field string) string {
	return strings.TrimPrefix(at+"."+field, ".")
}
