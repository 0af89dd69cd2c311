package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"usher/caps/value"
	"usher/tools/fault"
)

// secretSet holds the secrets that one call opened, to take them out of what it
// returns. A nil one holds none.
type secretSet struct {
	mu    sync.Mutex
	forms []string // each secret as it is, and as it stands in JSON and in URLs
}

func (o *secretSet) add(secret string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	quoted := value.AppendString(nil, secret)
	o.forms = append(o.forms, secret, string(quoted[1:len(quoted)-1]), url.QueryEscape(secret), url.PathEscape(secret))
	// Of one that is part of another the longer goes first, or the rest of it stays.
	slices.SortFunc(o.forms, func(a, b string) int { return len(b) - len(a) })
}

// hide takes the secrets out of the outcome of the call.
func (o *secretSet) hide(out json.RawMessage, err error) (json.RawMessage, error) {
	if o == nil {
		return out, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.forms) == 0 {
		return out, err
	}
	if err != nil {
		if text := o.text(err.Error()); text != err.Error() || o.tells(err) {
			err = fault.New(fault.Of(err), text) // what caused it would tell it
		}
		return nil, err
	}
	if len(out) == 0 {
		return out, nil
	}
	v, err := value.Decode(out, value.MaxDepth)
	if err != nil {
		return nil, fmt.Errorf("the output cannot be searched for the secrets that the call opened: %w", err)
	}
	return value.Append(nil, o.value(v)), nil
}

// tells reports whether an error has a secret among its details, or may have.
func (o *secretSet) tells(err error) bool {
	detailed, ok := errors.AsType[fault.Detailer](err)
	if !ok {
		return false
	}
	raw, err := json.Marshal(detailed.Details())
	if err != nil {
		return true
	}
	v, err := value.Decode(raw, value.MaxDepth)
	return err != nil || !bytes.Equal(value.Append(nil, v), value.Append(nil, o.value(v)))
}

func (o *secretSet) text(s string) string {
	for _, form := range o.forms {
		if form != "" {
			s = strings.ReplaceAll(s, form, value.Redacted)
		}
	}
	return s
}

func (o *secretSet) value(v any) any {
	switch v := v.(type) {
	case string:
		return o.text(v)
	case json.Number:
		if o.text(v.String()) != v.String() {
			return value.Redacted
		}
	case []any:
		for i, item := range v {
			v[i] = o.value(item)
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for key, item := range v {
			clean[o.text(key)] = o.value(item)
		}
		return clean
	}
	return v
}
