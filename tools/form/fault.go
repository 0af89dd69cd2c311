package form

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"usher/caps/value"
)

// Style is how strict a form is.
type Style uint8

// Styles of forms.
const (
	JSON     Style = iota // null and empty text stand for what is left out, as models write it
	YAML                  // every key that stands there has a value
	Settings              // the same, and no fault shows a text: it may be a secret in the wrong place
)

// Fault is one thing that does not fit.
type Fault struct {
	Path    string // of the object around it, for example "context[1]"; empty at the top
	Key     string // in that object; empty where the fault is the object's, or an entry's
	At      Pos
	Message string // what is wrong and what to write
	Err     error  // as the type of the value says it; may be nil
}

// Unwrap returns what the type of the value says.
func (f *Fault) Unwrap() error { return f.Err }

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

// Bounds of what is told of a value, which others may have written.
const (
	maxFaults = 100     // as many, and that there are more
	maxText   = 4 << 10 // bytes of one
)

// full reports whether no more is told.
func (d *decoder) full() bool { return len(d.faults) > maxFaults }

func (d *decoder) fault(path, key string, at Pos, format string, args ...any) {
	switch {
	case d.full():
		return
	case len(d.faults) == maxFaults:
		d.faults = append(d.faults, &Fault{At: at, Message: "there is more that does not fit, and these are the first"})
		return
	}
	err := fmt.Errorf(format, args...)
	d.faults = append(d.faults, &Fault{value.Cut(path, maxText), value.Cut(key, maxText), at, value.Cut(err.Error(), maxText), errors.Unwrap(err)})
}

// wrong reports a value of a kind that does not fit.
func (d *decoder) wrong(n *Node, s spot, want string) { d.misfit(n, s, n.Kind.String(), want) }

// outOfRange reports a number, or a text that stands for one.
func (d *decoder) outOfRange(n *Node, s spot, want string) {
	is := n.Kind.String()
	switch n.Kind {
	case Number:
		is = n.Text
	case Text:
		if d.style != Settings {
			is = strconv.Quote(n.Text)
		}
	}
	d.misfit(n, s, is, want)
}

// misfit reports what a value is, and what should stand there.
func (d *decoder) misfit(n *Node, s spot, is, want string) {
	want = cmp.Or(s.want, want)
	example := d.example(s.example)
	switch {
	case s.key == "":
		is += " here"
		if example != "" {
			want += ", for example " + example
		}
	case example != "":
		want += ", for example " + s.key + ": " + example
		if n.Kind == Null && !s.needed {
			want += ", or leave it out"
		}
	}
	d.fault(s.parent, s.key, n.At, "%s is %s: write %s", s.name(), is, want)
}

// word is a text in an example that needs no quotes in YAML.
var word = value.Form(`'([A-Za-z][A-Za-z0-9_/-]*)'`)

// example is the example of a tag as it is written.
func (d *decoder) example(tag string) string {
	if d.style != JSON {
		tag = word().ReplaceAllString(tag, "$1")
	}
	return strings.ReplaceAll(tag, "'", `"`)
}

// check reports what a form says of itself.
func (d *decoder) check(n *Node, path string, err error) {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range many.Unwrap() {
			d.check(n, path, one)
		}
		return
	}
	at := n.At
	if field, ok := errors.AsType[*inField](err); ok {
		if value := n.Get(field.key); value != nil {
			at = value.At
		}
	}
	d.fault(path, "", at, "%s", err)
}
