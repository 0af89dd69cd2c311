package form

import "reflect"

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
