package config

import (
	"errors"
	"strings"

	"usher/runtime"
)

// InModel puts the place of a model's setting before each thing that is wrong
// with it, as an [*Error]. Where the configuration was not read from text, err
// stays as it is.
func (c *Config) InModel(name string, err error) error {
	var all []error
	for _, err := range apart(err) {
		at := c.settingAt(name, err)
		if at.File == "" {
			break
		}
		all = append(all, &Error{at.File, at.Line, at.Column, "model " + name + ": " + withoutModel(name, err), at.excerpt(), err})
	}
	if len(all) == 0 {
		return err
	}
	return errors.Join(all...)
}

// withoutModel is what err says, without the model's name before it.
func withoutModel(name string, err error) string {
	return strings.TrimPrefix(err.Error(), "model "+name+": ")
}

// settingAt is where the setting stands that an error is about; where that is
// not known, where the nearest around it does.
func (c *Config) settingAt(model string, err error) place {
	if setting, ok := errors.AsType[*runtime.SettingError](err); ok {
		return c.at("model", model, strings.Split(setting.Setting, ".")...)
	}
	return c.at("model", model)
}

// apart returns the errors that err joins, each on its own.
func apart(err error) []error {
	for e := err; e != nil; e = errors.Unwrap(e) {
		joined, ok := e.(interface{ Unwrap() []error })
		if !ok {
			continue
		}
		var all []error
		var lines []string
		for _, part := range joined.Unwrap() {
			all = append(all, apart(part)...)
			lines = append(lines, part.Error())
		}
		if strings.Join(lines, "\n") == e.Error() { // else it is one error of several kinds
			return all
		}
	}
	if err == nil {
		return nil
	}
	return []error{err}
}
