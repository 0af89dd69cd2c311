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
	"usher/tools/form"
)

// Setting puts a value of a configuration where it belongs, or says what is
// wrong with it.
type Setting func(value any) error

// Read hands the values of a configuration to the settings that know them. One
// that no setting knows is an error that names the nearest, of those that any
// model takes (every) too. All that is wrong is told at once, each as a
// [runtime.SettingError].
func Read(provider string, values map[string]any, known map[string]Setting, every ...string) error {
	return read("provider "+provider, "", values, known, every)
}

// read reads the settings of owner, whose names stand behind path.
func read(owner, path string, values map[string]any, known map[string]Setting, every []string) error {
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		set, ok := known[name]
		err := unknown(owner, name, Names(known), every)
		if ok {
			err = set(values[name])
		}
		switch _, told := errors.AsType[*runtime.SettingError](err); {
		case err == nil:
			continue
		case ok && !told:
			err = fmt.Errorf("%s: %w", path+name, err)
			fallthrough
		case !told:
			err = &runtime.SettingError{Setting: path + name, Err: err}
		}
		wrong = append(wrong, err)
	}
	return errors.Join(wrong...)
}

// Within takes settings that stand within the one of a name. Where defaults says
// that each has one, true stands for them, and false for no setting.
func Within[T any](name string, to **T, known func(*T) map[string]Setting, defaults bool) Setting {
	return func(value any) error {
		v, expected := new(T), "settings by name"
		if defaults {
			expected += ", true or false"
		}
		switch values := value.(type) {
		case map[string]any:
			if len(values) == 0 && !defaults {
				return errors.New("is empty: fill it in or remove it")
			}
			*to = v
			return read(name, name+".", values, known(v), nil)
		case bool:
			if defaults && values {
				*to = v
			}
			if defaults {
				return nil
			}
		}
		return Wrong(value, expected)
	}
}

// unknown says what there is instead of a setting that is not.
func unknown(owner, name string, known, every []string) error {
	every = slices.Sorted(slices.Values(every))
	if near := nearest(name, slices.Concat(known, every)); near != "" {
		return fmt.Errorf("%s has no setting %q: did you mean %s?", owner, name, near)
	}
	text := fmt.Sprintf("%s has no setting %q: its settings are %s", owner, name, listed(known))
	if len(every) > 0 {
		text += "; any model also takes " + listed(every)
	}
	return errors.New(text)
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

// number takes a finite number.
func number(to *float64) Setting {
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
func Positive[N int | int64](to *N) Setting {
	return func(value any) error {
		n, err := strconv.ParseInt(digits(value), 10, 64)
		if err != nil || n < 1 || int64(N(n)) != n {
			return Wrong(value, "a whole number above 0")
		}
		*to = N(n)
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
