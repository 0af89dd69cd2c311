package endpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"usher/runtime"
	"usher/runtime/wrap"
	"usher/tools/form"
)

// Setting puts a value of a configuration where it belongs, or says what is
// wrong with it.
type Setting func(value any) error

// Read hands the values of a configuration to the settings that know them. One
// that no setting knows is an error that names the nearest. All that is wrong
// is told at once, each as a [runtime.SettingError].
func Read(provider string, values map[string]any, known map[string]Setting) error {
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		err := unknown(provider, name, known)
		if set, ok := known[name]; ok {
			if err = set(values[name]); err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
		}
		if err != nil {
			wrong = append(wrong, &runtime.SettingError{Setting: name, Err: err})
		}
	}
	return errors.Join(wrong...)
}

// unknown says what there is instead of a setting that is not. What models
// over models take comes here too when it is misspelt.
func unknown(provider, name string, known map[string]Setting) error {
	own, every := Names(known), slices.Sorted(slices.Values(wrap.Settings()))
	if near := nearest(name, slices.Concat(own, every)); near != "" {
		return fmt.Errorf("provider %s has no setting %q: did you mean %s?", provider, name, near)
	}
	return fmt.Errorf("provider %s has no setting %q: its settings are %s; any model also takes %s", provider, name, listed(own), listed(every))
}

func listed(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// Names returns the names of the settings, sorted.
func Names(known map[string]Setting) []string { return slices.Sorted(maps.Keys(known)) }

// Bad is an error that begins with the name of the setting that it is about.
func Bad(setting, format string, args ...any) error {
	return &runtime.SettingError{Setting: setting, Err: fmt.Errorf(setting+" "+format, args...)}
}

// nearest is [form.Nearest], but takes baseURL for base_url, and api_key for key.
func nearest(name string, known []string) string {
	for _, k := range known {
		if letters(k) == letters(name) {
			return k
		}
	}
	if near := form.Nearest(name, known); near != "" {
		return near
	}
	if last := name[strings.LastIndexAny(name, "_-")+1:]; slices.Contains(known, last) {
		return last
	}
	return ""
}

// letters is a name in the letters that all spellings of it have.
func letters(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// Wrong says what was expected instead of value. Of a text it says only that it
// is one: it may be a secret in the wrong place.
func Wrong(value any, expected string) error {
	kind := fmt.Sprintf("%T", value)
	switch value.(type) {
	case nil:
		kind = "nothing"
	case string:
		kind = "text"
	case bool:
		kind = "true or false"
	case json.Number, int, int64, uint64, float64:
		kind = fmt.Sprint(value)
	case []any:
		kind = "a list"
	case map[string]any:
		kind = "a mapping"
	}
	return fmt.Errorf("expected %s, got %s", expected, kind)
}

// Text takes a text that is not empty.
func Text(to *string) Setting {
	return func(value any) error {
		s, ok := value.(string)
		if !ok || s == "" {
			return Wrong(value, "text that is not empty (put it into quotes)")
		}
		*to = s
		return nil
	}
}

// Truth takes true or false.
func Truth(to *bool) Setting {
	return func(value any) error {
		b, ok := value.(bool)
		if !ok {
			return Wrong(value, "true or false")
		}
		*to = b
		return nil
	}
}

// Negated takes true or false and sets the opposite.
func Negated(to *bool) Setting {
	return func(value any) error {
		var yes bool
		err := Truth(&yes)(value)
		*to = !yes
		return err
	}
}

// Number takes a finite number.
func Number(to *float64) Setting {
	return func(value any) error {
		f, err := strconv.ParseFloat(digits(value), 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return Wrong(value, "a number, for example 0.7")
		}
		*to = f
		return nil
	}
}

// Integer takes a whole number.
func Integer(to *int) Setting {
	return func(value any) error {
		n, err := strconv.Atoi(digits(value))
		if err != nil {
			return Wrong(value, "a whole number")
		}
		*to = n
		return nil
	}
}

// Positive takes a whole number above 0.
func Positive(to *int) Setting {
	return func(value any) error {
		if err := Integer(to)(value); err != nil || *to < 1 {
			return Wrong(value, "a whole number above 0")
		}
		return nil
	}
}

// digits spells a number; everything else, text with digits too, is "".
func digits(value any) string {
	switch n := value.(type) {
	case json.Number:
		return n.String()
	case int, int64, uint64, float64:
		return fmt.Sprint(n)
	}
	return ""
}

// Duration takes a duration above 0, as text.
func Duration(to *time.Duration) Setting {
	return func(value any) error {
		s, _ := value.(string)
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 {
			return Wrong(value, "a duration above 0, for example 90s or 5m")
		}
		*to = d
		return nil
	}
}

// Optional sets a pointer to what kind takes, so that a zero that was written
// is told from none.
func Optional[T any](to **T, kind func(*T) Setting) Setting {
	return func(value any) error {
		v := new(T)
		if err := kind(v)(value); err != nil {
			return err
		}
		*to = v
		return nil
	}
}
