package form

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// layout is what the tags of a struct say.
type layout struct {
	noun, example string
	required      []string
	some          bool // at least one key has to stand in it
	text          bool // JSON may hold it as text that spells it
	fields        []member
	keys          []string
	rest          []int // of the map that takes the other keys; nil has none
}

// member is a field of a form.
type member struct {
	Key   string
	Index []int
	Tag   reflect.StructTag
}

// Keys returns the keys of a form, sorted.
func Keys(t reflect.Type) []string { return slices.Sorted(slices.Values(layoutOf(t).keys)) }

var layouts sync.Map // reflect.Type to *layout

// layoutOf reads the tags of a struct, those of embedded structs as its own.
func layoutOf(t reflect.Type) *layout {
	if known, ok := layouts.Load(t); ok {
		return known.(*layout)
	}
	l := new(layout)
	for _, f := range reflect.VisibleFields(t) {
		switch {
		case f.Name == "_":
			l.noun, l.example, l.text = f.Tag.Get("noun"), f.Tag.Get("example"), f.Tag.Get("text") != ""
			if required := f.Tag.Get("required"); required == "*" {
				l.some = true
			} else if required != "" {
				l.required = strings.Split(required, ",")
			}
		case f.Tag.Get("rest") != "":
			l.rest = f.Index
		case f.IsExported() && !f.Anonymous:
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if key = cmp.Or(key, f.Name); key != "-" {
				l.fields = append(l.fields, member{key, f.Index, f.Tag})
				l.keys = append(l.keys, key)
			}
		}
	}
	for f := range t.Fields() {
		if f.Anonymous && l.noun == "" { // it is what it embeds, with more fields
			inner := layoutOf(f.Type)
			l.noun, l.example = inner.noun, inner.example
		}
	}
	layouts.Store(t, l)
	return l
}

// Is reports whether a type is a struct whose tags this package reads.
func Is(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	_, marked := t.FieldByName("_")
	return marked
}

// Over returns base with every field of the form changes in its place that is
// not zero.
func Over[T any](base, changes T) T {
	out, from := reflect.ValueOf(&base).Elem(), reflect.ValueOf(&changes).Elem()
	for _, m := range layoutOf(out.Type()).fields {
		if f := from.FieldByIndex(m.Index); !f.IsZero() {
			out.FieldByIndex(m.Index).Set(f)
		}
	}
	return base
}
