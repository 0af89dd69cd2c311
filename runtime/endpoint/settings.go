package endpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"usher/runtime"
	"usher/tools/form"
	"usher/tools/spend"
)

// Setter is a kind of setting that takes its value itself, or says what is wrong
// with it.
type Setter interface{ Set(value any) error }

// Off is a setting that is written as its opposite: stream: false is NoStream.
type Off bool

// Set takes true or false.
func (o *Off) Set(value any) error {
	var on bool
	err := truth(&on, value)
	*o = Off(!on)
	return err
}

// Read puts the values of a configuration into the form that to points to. One
// that no field knows is an error that names the nearest, of those that any
// model takes (every) too. All that is wrong is told at once, each as a
// [runtime.SettingError]; no error shows a text, which may be a secret in the
// wrong place.
func Read(owner string, values map[string]any, to any, every ...string) error {
	r := reading{owner: owner, every: every}
	return r.read(values, reflect.ValueOf(to).Elem())
}

// reading reads the settings of owner, whose names stand behind path.
type reading struct {
	owner, path string
	every       []string
}

func (r *reading) read(values map[string]any, to reflect.Value) error {
	var wrong []error
	members := form.Members(to.Type())
	for _, name := range slices.Sorted(maps.Keys(values)) {
		i := slices.IndexFunc(members, func(m form.Member) bool { return m.Key == name })
		var err error
		switch {
		case i < 0:
			err = r.unknown(name, form.Keys(to.Type()))
		default:
			err = r.set(name, to.FieldByIndex(members[i].Index), members[i].Tag, values[name])
		}
		if _, told := errors.AsType[*runtime.SettingError](err); err != nil && !told {
			if i >= 0 {
				err = fmt.Errorf("%s: %w", r.path+name, err)
			}
			err = &runtime.SettingError{Setting: r.path + name, Err: err}
		}
		wrong = append(wrong, err)
	}
	return errors.Join(wrong...)
}

// set reads a value by the type of its field.
func (r *reading) set(name string, to reflect.Value, tag reflect.StructTag, value any) error {
	switch to := to.Addr().Interface().(type) {
	case Setter:
		return to.Set(value)
	case *string:
		s, _ := value.(string)
		if s == "" {
			return Wrong(value, "text that is not empty (put it into quotes)")
		}
		*to = s
		return nil
	case *bool:
		return truth(to, value)
	case *float64:
		f, err := strconv.ParseFloat(digits(value), 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return Wrong(value, "a number, for example 0.7")
		}
		*to = f
		return nil
	case *time.Duration:
		s, _ := value.(string)
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 {
			return Wrong(value, "a duration above 0, for example 90s or 5m")
		}
		*to = d
		return nil
	case *spend.Money:
		return setMoney(to, value, tag.Get("min") != "0")
	}
	switch {
	case to.CanInt():
		n, err := strconv.ParseInt(digits(value), 10, 64)
		switch anything := tag.Get("min") == "any"; {
		case err != nil && anything:
			return Wrong(value, "a whole number")
		case err != nil || !anything && n < 1 || to.OverflowInt(n):
			return Wrong(value, "a whole number above 0")
		}
		to.SetInt(n)
		return nil
	case to.Kind() != reflect.Pointer:
		panic("endpoint: a setting of type " + to.Type().String() + " cannot be read")
	}
	v := reflect.New(to.Type().Elem())
	var err error
	if tag.Get("form") == "" {
		err = r.set(name, v.Elem(), tag, value)
	} else {
		within := reading{owner: name, path: name + "."}
		err = within.object(&v, tag.Get("on") != "", value)
	}
	if err == nil {
		to.Set(v)
	}
	return err
}

// object reads settings that stand within one. Where each has a default, true
// stands for them, and false for no setting.
func (r *reading) object(v *reflect.Value, defaults bool, value any) error {
	expected := "settings by name"
	if defaults {
		expected += ", true or false"
	}
	switch values := value.(type) {
	case map[string]any:
		if len(values) == 0 && !defaults {
			return errors.New("is empty: fill it in or remove it")
		}
		return r.read(values, v.Elem())
	case bool:
		if !values {
			*v = reflect.Zero(v.Type())
		}
		if defaults {
			return nil
		}
	}
	return Wrong(value, expected)
}

// setMoney takes an amount, as a number or as text.
func setMoney(to *spend.Money, value any, above bool) error {
	text, ok := value.(string)
	if !ok {
		text = digits(value)
	}
	n, err := spend.ParseMoney(text)
	switch {
	case err != nil:
		return Wrong(value, "an amount such as 2.50, with at most six decimals")
	case above && n == 0:
		return errors.New("expected an amount above 0; leave it out for no limit")
	}
	*to = n
	return nil
}

func truth(to *bool, value any) error {
	b, ok := value.(bool)
	if !ok {
		return Wrong(value, "true or false")
	}
	*to = b
	return nil
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

// unknown says what there is instead of a setting that is not.
func (r *reading) unknown(name string, known []string) error {
	every := slices.Sorted(slices.Values(r.every))
	if near := nearest(name, slices.Concat(known, every)); near != "" {
		return fmt.Errorf("%s has no setting %q: did you mean %s?", r.owner, name, near)
	}
	text := fmt.Sprintf("%s has no setting %q: its settings are %s", r.owner, name, listed(known))
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
