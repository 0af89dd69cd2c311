package wrap

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"usher/runtime"
	"usher/tools/spend"
)

// section reads the values of one mapping. The errors are kept, so that reading
// needs no checks in between.
type section struct {
	path   string
	values map[string]any
	asked  []string
	errs   []error
}

func newSection(path string, values map[string]any) *section {
	return &section{path: path, values: values}
}

// fail keeps an error of a setting, which stands at path.
func (s *section) fail(path, format string, args ...any) {
	s.errs = append(s.errs, &runtime.SettingError{Setting: path, Err: fmt.Errorf(path+format, args...)})
}

func (s *section) at(key string) string {
	if s.path == "" {
		return key
	}
	return s.path + "." + key
}

func (s *section) get(key string) (any, bool) {
	s.asked = append(s.asked, key)
	v, ok := s.values[key]
	return v, ok
}

// section returns the mapping under key. Where all its values have defaults,
// true stands for them.
func (s *section) section(key string, defaults bool) (*section, bool) {
	v, ok := s.get(key)
	if !ok {
		return nil, false
	}
	switch v := v.(type) {
	case map[string]any:
		if len(v) > 0 || defaults {
			return newSection(s.at(key), v), true
		}
		s.fail(s.at(key), " is empty: fill it in or remove it")
		return nil, false
	case bool:
		if defaults {
			return newSection(s.at(key), nil), v
		}
	}
	if defaults {
		s.fail(s.at(key), ": want a mapping, true or false, not %s", shown(v))
	} else {
		s.fail(s.at(key), ": want a mapping, not %s", shown(v))
	}
	return nil, false
}

// done takes over what was wrong with sub, its unknown keys included.
func (s *section) done(sub *section) {
	for _, key := range slices.Sorted(maps.Keys(sub.values)) {
		if !slices.Contains(sub.asked, key) {
			s.errs = append(s.errs, &runtime.SettingError{Setting: sub.at(key), Err: fmt.Errorf("%s: %s", sub.path, unknown("setting", key, sub.asked))})
		}
	}
	s.errs = append(s.errs, sub.errs...)
}

func (s *section) text(key string) string {
	v, ok := s.get(key)
	if !ok {
		return ""
	}
	text, ok := v.(string)
	if !ok || text == "" {
		s.fail(s.at(key), ": want a file name, not %s", shown(v))
	}
	return text
}

// names reads a name or a list of names.
func (s *section) names(key string) []string {
	v, ok := s.get(key)
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var names []string
	for _, item := range list {
		name, ok := item.(string)
		if !ok || name == "" {
			s.fail(s.at(key), ": want a model's name or a list of names, not %s", shown(item))
			return nil
		}
		if slices.Contains(names, name) {
			s.fail(s.at(key), ": %s is named twice", name)
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		s.fail(s.at(key), ": the list is empty: name a model or remove it")
	}
	return names
}

func (s *section) count64(key string) int64 {
	v, ok := s.get(key)
	if !ok {
		return 0
	}
	number, _ := v.(json.Number)
	n, err := strconv.ParseInt(number.String(), 10, 64)
	if err != nil || n <= 0 {
		s.fail(s.at(key), ": want a whole number above 0, not %s; leave it out for no limit of your own", shown(v))
		return 0
	}
	return n
}

func (s *section) count(key string) int {
	n := s.count64(key)
	if int64(int(n)) != n {
		s.fail(s.at(key), ": %d is too large", n)
		return 0
	}
	return int(n)
}

func (s *section) duration(key string) time.Duration {
	v, ok := s.get(key)
	if !ok {
		return 0
	}
	text, _ := v.(string)
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		s.fail(s.at(key), ": want a time such as 500ms, 30s or 5m, not %s", shown(v))
		return 0
	}
	return d
}

// money reads an amount above 0 in units, as money.
func (s *section) money(key string) spend.Money {
	before := len(s.errs)
	n := s.amount(key)
	if _, given := s.values[key]; given && n == 0 && len(s.errs) == before {
		s.fail(s.at(key), ": want an amount above 0; leave it out for no limit")
	}
	return n
}

func (s *section) amount(key string) spend.Money {
	v, ok := s.get(key)
	if !ok {
		return 0
	}
	var text string
	switch v := v.(type) {
	case json.Number:
		text = v.String()
	case string:
		text = v
	}
	n, err := spend.ParseMoney(text)
	if err != nil {
		s.fail(s.at(key), ": want an amount such as 2.50, with at most six decimals, not %s", shown(v))
	}
	return n
}

// price reads what a million tokens cost.
func (s *section) price(key string) *spend.Price {
	sub, ok := s.section(key, false)
	if !ok {
		return nil
	}
	for _, side := range []string{"input", "output"} {
		if _, given := sub.values[side]; !given {
			s.fail(sub.path, ": give input and output, for a million tokens")
			break
		}
	}
	p := &spend.Price{Input: sub.amount("input"), Output: sub.amount("output"), CacheRead: sub.amount("cache_read"), CacheWrite: sub.amount("cache_write")}
	if _, given := sub.values["cache_read"]; !given {
		p.CacheRead = p.Input
	}
	if _, given := sub.values["cache_write"]; !given {
		p.CacheWrite = p.Input
	}
	s.done(sub)
	return p
}

func shown(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return strconv.Quote(v)
	case []any:
		return "a list"
	case map[string]any:
		return "a mapping"
	}
	return fmt.Sprint(v)
}
