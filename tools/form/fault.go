package form

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Style is the language in which faults speak of values.
type Style uint8

// Styles of faults.
const (
	JSON Style = iota // null and objects; null and empty text stand for what is left out
	YAML              // mappings, examples without needless quotes
)

// Fault is one thing that does not fit.
type Fault struct {
	Path    string // of the object around it, for example "context[1]"; empty at the top
	At      Pos
	Message string // what is wrong and what to write
}

func (f *Fault) Error() string {
	if f.Path == "" {
		return f.Message
	}
	return f.Path + ": " + f.Message
}

// Faults are all that does not fit.
type Faults []*Fault

func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, one := range f {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Checker is a form with rules of its own. Decode asks it once all fields of it
// fit. What it says of one field it says by [In].
type Checker interface{ Check() error }

// In says that err is about the value of a key, or its lack.
func In(key string, err error) error { return &inField{key, err} }

type inField struct {
	key string
	err error
}

func (e *inField) Error() string { return e.err.Error() }
func (e *inField) Unwrap() error { return e.err }

func (d *decoder) fault(path string, at Pos, format string, args ...any) {
	d.faults = append(d.faults, &Fault{path, at, fmt.Sprintf(format, args...)})
}

// Name is what a kind of value is called.
func (y Style) Name(k Kind) string {
	if y == YAML {
		return [...]string{"empty", "a boolean", "a number", "text", "a list", "a mapping"}[k]
	}
	return [...]string{"null", "a boolean", "a number", "text", "a list", "an object"}[k]
}

// wrong reports a value of a kind that does not fit.
func (d *decoder) wrong(n *Node, s spot, want string) {
	d.misfit(n, s, d.style.Name(n.Kind), want)
}

// outOfRange reports a number, or a text that stands for one.
func (d *decoder) outOfRange(n *Node, s spot, want string) {
	is := d.style.Name(n.Kind)
	if n.Kind == Number {
		is = n.Text
	}
	d.misfit(n, s, is, want)
}

func (d *decoder) misfit(n *Node, s spot, is, want string) {
	if s.want != "" {
		want = s.want
	}
	example, end := d.example(s.example), ""
	if s.key == "" {
		is += " here"
	} else if example != "" {
		example = s.key + ": " + example
		if n.Kind == Null {
			end = ", or " + d.leaveOut()
		}
	}
	if example != "" {
		want += ", for example " + example
	}
	d.fault(s.parent, n.At, "%s is %s: write %s%s", s.name(), is, want, end)
}

func (d *decoder) leaveOut() string {
	if d.style == YAML {
		return "remove the key"
	}
	return "leave it out"
}

// word is a text in an example that needs no quotes in YAML.
var word = regexp.MustCompile(`'([A-Za-z][A-Za-z0-9_/-]*)'`)

// example is the example of a tag in the style of the faults.
func (d *decoder) example(tag string) string {
	if d.style == YAML {
		tag = word.ReplaceAllString(tag, "$1")
	}
	return strings.ReplaceAll(tag, "'", `"`)
}

// checked reports what a form says of itself.
func (d *decoder) checked(n *Node, path string, err error) {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range many.Unwrap() {
			d.checked(n, path, one)
		}
		return
	}
	at := n.At
	if field, ok := errors.AsType[*inField](err); ok {
		if value := n.Get(field.key); value != nil {
			at = value.At
		}
	}
	d.fault(path, at, "%s", err)
}

func (d *decoder) unknown(f Field, s spot, known []string) {
	d.fault(s.path, f.At, "unknown key %q in %s: %s", f.Key, s.noun, instead(f.Key, known))
}

// instead says what may be meant by a name that is not known.
func instead(name string, known []string) string {
	if near := Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "the keys are " + strings.Join(known, ", ")
}
