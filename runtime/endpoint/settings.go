package endpoint

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"usher/runtime"
	"usher/tools/form"
)

// Off is a setting that is written as its opposite: stream: false is NoStream.
type Off bool

// UnmarshalJSON reads true or false.
func (o *Off) UnmarshalJSON(raw []byte) error {
	on := string(raw) == "true"
	if !on && string(raw) != "false" {
		return errors.New("write true or false")
	}
	*o = Off(!on)
	return nil
}

// Read puts the values of a configuration into the form that to points to. One
// that no field knows is an error that names the nearest, of those that any
// model takes (every) too. All that is wrong is told at once, each as a
// [runtime.SettingError]; no error shows a text, which may be a secret in the
// wrong place.
func Read(owner string, values map[string]any, to any, every ...string) error {
	keys := form.Keys(reflect.TypeOf(to).Elem())
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(keys, name) {
			wrong = append(wrong, &runtime.SettingError{Setting: name, Err: unknown(owner, name, keys, every)})
			continue
		}
		err := form.Decode(form.Of(map[string]any{name: values[name]}), to, form.Settings)
		faults, _ := errors.AsType[form.Faults](err)
		for _, fault := range faults {
			at := cmp.Or(strings.Trim(fault.Path+"."+fault.Key, "."), name)
			wrong = append(wrong, &runtime.SettingError{Setting: at, Err: fault})
		}
	}
	return errors.Join(wrong...)
}

// unknown says what there is instead of a setting that is not: key for api_key.
func unknown(owner, name string, keys, every []string) error {
	near, last := form.Nearest(name, slices.Concat(keys, every)), name[strings.LastIndexAny(name, "_-")+1:]
	if near == "" && slices.Contains(keys, last) {
		near = last
	}
	if near != "" {
		return fmt.Errorf("%s has no setting %q: did you mean %s?", owner, name, near)
	}
	text := fmt.Sprintf("%s has no setting %q: its settings are %s", owner, name, strings.Join(keys, ", "))
	if len(every) > 0 {
		text += "; any model also takes " + strings.Join(every, ", ")
	}
	return errors.New(text)
}

// Bad is an error that begins with the name of the setting that it is about.
func Bad(setting, format string, args ...any) error {
	return &runtime.SettingError{Setting: setting, Err: fmt.Errorf(setting+" "+format, args...)}
}
