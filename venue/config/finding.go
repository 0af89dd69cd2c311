package config

import (
	"errors"
	"fmt"
	"strings"

	"usher/runtime"
	"usher/tools/form"
)

// Levels of a [Finding].
const (
	LevelError   = "error"   // it cannot be read, or cannot work as written
	LevelWarning = "warning" // it works, and is probably not meant
	LevelNote    = "note"    // it works, and is worth knowing
)

// Finding is something that is wrong with a configuration, or worth knowing.
// [Load], [LoadFS] and [Parse] join those that keep one from being read.
type Finding struct {
	Level   string `json:"level"`
	File    string `json:"file,omitempty"`   // empty for a configuration that was not read from text
	Line    int    `json:"line,omitempty"`   // from 1; 0 for a file as a whole
	Column  int    `json:"column,omitempty"` // in characters
	Subject string `json:"subject"`          // "agent Carol"
	Message string `json:"message"`          // what is wrong and what to write
	Advice  string `json:"advice,omitempty"`

	excerpt string // the line and a caret below it
	cause   error
}

var _ error = (*Finding)(nil)

// Unwrap returns what the finding comes from, or nil.
func (f *Finding) Unwrap() error { return f.cause }

// Error is the message with its place and an excerpt of the file, without secrets.
func (f *Finding) Error() string {
	return strings.TrimSuffix(f.Place()+": "+f.Message+"\n"+f.excerpt, "\n")
}

// String is the finding on one line.
func (f Finding) String() string {
	text := f.Place() + ": " + f.Level + ": " + f.Subject + ": " + f.Message
	if f.Advice != "" {
		text += ": " + f.Advice
	}
	return text
}

// Place is the file, line and column as compilers print them.
func (f *Finding) Place() string {
	switch {
	case f.File == "":
		return "configuration"
	case f.Line == 0:
		return f.File
	}
	return fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
}

// place is where something stands; without a source it is unknown.
type place struct {
	src *source
	form.Pos
}

func (p place) finding(level, subject, message, advice string) *Finding {
	f := &Finding{Level: level, Line: p.Line, Column: p.Column, Subject: subject, Message: message, Advice: advice}
	if p.src != nil {
		f.File = p.src.name
	}
	return f
}

func (p place) String() string { return p.finding("", "", "", "").Place() }

func (p place) fault(format string, args ...any) *Finding {
	f := p.finding(LevelError, "configuration", fmt.Sprintf(format, args...), "")
	f.excerpt = p.excerpt()
	return f
}

// maxFaults is how many faults are reported at once.
const maxFaults = 20

func joinFaults(faults []error) error {
	if more := len(faults) - maxFaults; more > 0 {
		faults = append(faults[:maxFaults:maxFaults], fmt.Errorf("and %d more errors", more))
	}
	return errors.Join(faults...)
}

// InModel puts the place of a model's setting before each thing that is wrong
// with it, as a [*Finding]. Where the configuration was not read from text, err
// stays as it is.
func (c *Config) InModel(name string, err error) error {
	var all []error
	for _, err := range Each(err) {
		at := c.at("model "+name, setting(err)...)
		if at.src == nil {
			return err
		}
		f := at.fault("model %s: %s", name, withoutModel(name, err))
		f.cause = err
		all = append(all, f)
	}
	return errors.Join(all...)
}

// setting is the path of the setting that an error is about, as far as it says.
func setting(err error) []string {
	if about, ok := errors.AsType[*runtime.SettingError](err); ok {
		return strings.Split(about.Setting, ".")
	}
	return nil
}

// withoutModel is what err says, without the model's name before it.
func withoutModel(name string, err error) string {
	return strings.TrimPrefix(err.Error(), "model "+name+": ")
}

// Each returns the errors that err joins, each on its own.
func Each(err error) []error {
	for e := err; e != nil; e = errors.Unwrap(e) {
		joined, ok := e.(interface{ Unwrap() []error })
		if !ok {
			continue
		}
		var all []error
		var lines []string
		for _, part := range joined.Unwrap() {
			all = append(all, Each(part)...)
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
