package jsonop

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"usher/caps/value"
)

// patch applies p to v (RFC 7396, "MergePatch"). It may change v.
func patch(v, p any) any {
	fields, ok := p.(map[string]any)
	if !ok {
		return p
	}
	target, ok := v.(map[string]any)
	if !ok {
		target = make(map[string]any, len(fields))
	}
	for key, field := range fields {
		if field == nil {
			delete(target, key)
		} else {
			target[key] = patch(target[key], field)
		}
	}
	return target
}

// maxPath bounds the keys of a path.
const maxPath = 256

// parsePath reads "a/b/0" or ["a","b",0]. As in resources, one leading and one
// trailing slash mean nothing.
func parsePath(raw json.RawMessage) ([]string, error) {
	v, err := decode(raw)
	if err != nil {
		return nil, err
	}
	var path []string
	switch v := v.(type) {
	case string:
		path = strings.Split(strings.TrimSuffix(strings.TrimPrefix(v, "/"), "/"), "/")
		if slices.Contains(path, "") {
			return nil, fmt.Errorf("path %q has an empty segment: write a/b, or an array of keys", v)
		}
	case []any:
		for i, element := range v {
			if kind := value.Kind(element); kind != "string" && kind != "number" {
				return nil, fmt.Errorf("path[%d] is %s: a path is made of keys and indexes", i, value.A(element))
			}
			path = append(path, fmt.Sprint(element))
		}
	default:
		return nil, fmt.Errorf(`path is %s: write a text such as a/b, or an array of keys and indexes`, value.A(v))
	}
	if len(path) == 0 {
		return nil, errors.New("path is empty: name at least one key")
	}
	if len(path) > maxPath {
		return nil, fmt.Errorf("path has %d keys, %d is the most", len(path), maxPath)
	}
	return path, nil
}

// assoc returns v with a value set at path, of which the first at keys are done.
// It may change v.
func assoc(v any, path []string, at int, set any) (any, error) {
	if at == len(path) {
		return set, nil
	}
	key := path[at]
	switch v := v.(type) {
	case nil:
		made, err := assoc(nil, path, at+1, set)
		return map[string]any{key: made}, err
	case map[string]any:
		made, err := assoc(v[key], path, at+1, set)
		v[key] = made
		return v, err
	case []any:
		i, ok := value.Index(key)
		if !ok || i > len(v) {
			return nil, fmt.Errorf("%s is an array of %d: %q is no index of it; 0 to %d are, the last one to append", strings.Join(path[:at], "/"), len(v), key, len(v))
		}
		if i == len(v) {
			v = append(v, nil)
		}
		var err error
		v[i], err = assoc(v[i], path, at+1, set)
		return v, err
	default:
		return nil, fmt.Errorf("%s is %s and holds no %q: set a value there first, or choose another path", strings.Join(path[:at], "/"), value.A(v), key)
	}
}

// decode reads one JSON value; absent is null.
func decode(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	return value.Decode(raw, value.MaxDepth)
}
