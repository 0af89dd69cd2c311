package value

import (
	"strconv"
	"sync"
	"time"
)

// Writer writes a JSON object member by member, as encoding/json does without
// the escapes that only HTML needs. [NewWriter] makes one.
type Writer struct {
	b    []byte
	room *[]byte // that b began in
}

// rooms are for writers to write in, so that an object takes no more memory than it
// is long.
var rooms = sync.Pool{New: func() any {
	b := make([]byte, 0, 1<<10)
	return &b
}}

// NewWriter returns a writer, which writes one object.
func NewWriter() Writer {
	room := rooms.Get().(*[]byte) //nolint:forcetypeassert // the pool has nothing else
	return Writer{(*room)[:0], room}
}

func (w *Writer) name(name string) {
	switch n := len(w.b); {
	case n == 0:
		w.b = append(w.b, '{')
	case w.b[n-1] != '{':
		w.b = append(w.b, ',')
	}
	w.b = append(append(append(w.b, '"'), name...), '"', ':')
}

// Text writes a member that is a text.
func (w *Writer) Text(name, text string) {
	w.name(name)
	w.b = AppendString(w.b, text)
}

// Some writes a member that is a text, unless that is empty.
func (w *Writer) Some(name, text string) {
	if text != "" {
		w.Text(name, text)
	}
}

// Int writes a member that is a whole number.
func (w *Writer) Int(name string, n int64) {
	w.name(name)
	w.b = strconv.AppendInt(w.b, n, 10)
}

// Count writes a member that is a whole number, unless that is zero.
func (w *Writer) Count(name string, n int64) {
	if n != 0 {
		w.Int(name, n)
	}
}

// Mark writes a member that is true, unless it is not.
func (w *Writer) Mark(name string, set bool) {
	if set {
		w.Raw(name, []byte("true"))
	}
}

// Texts writes a member that is a list of texts, unless that is empty.
func (w *Writer) Texts(name string, texts []string) {
	for i, text := range texts {
		if i == 0 {
			w.name(name)
			w.b = append(w.b, '[')
		} else {
			w.b = append(w.b, ',')
		}
		w.b = AppendString(w.b, text)
	}
	if len(texts) > 0 {
		w.b = append(w.b, ']')
	}
}

// Begin begins a member that is an object; what follows, until End, are its members.
// It returns where in the text the object begins, for [Writer.Since].
func (w *Writer) Begin(name string) (at int) {
	w.name(name)
	w.b = append(w.b, '{')
	return len(w.b) - 1
}

// Since is the text from a place on, as long as nothing more is written.
func (w *Writer) Since(at int) []byte { return w.b[at:] }

// Instead puts JSON in the place of the text from a place on.
func (w *Writer) Instead(at int, raw []byte) { w.b = append(w.b[:at], raw...) }

// End ends what Begin began.
func (w *Writer) End() { w.b = append(w.b, '}') }

// List writes a member that is a list of n objects, unless there are none: each
// writes the members of one.
func (w *Writer) List(name string, n int, each func(i int)) {
	for i := range n {
		if i == 0 {
			w.name(name)
			w.b = append(w.b, '[', '{')
		} else {
			w.b = append(w.b, ',', '{')
		}
		each(i)
		w.End()
	}
	if n > 0 {
		w.b = append(w.b, ']')
	}
}

// Time writes a member that is a time.
func (w *Writer) Time(name string, t time.Time) {
	w.name(name)
	w.b = append(t.AppendFormat(append(w.b, '"'), time.RFC3339Nano), '"')
}

// Raw writes a member that is JSON already.
func (w *Writer) Raw(name string, raw []byte) {
	w.name(name)
	w.b = append(w.b, raw...)
}

// Any writes a member that is any Go value, as [Encode] does.
func (w *Writer) Any(name string, v any) (err error) {
	w.name(name)
	w.b, err = appendAny(w.b, v)
	return err
}

// Object returns the object. The writer writes nothing more.
func (w *Writer) Object() []byte { return w.AppendTo(nil) }

// AppendTo is [Writer.Object] behind dst.
func (w *Writer) AppendTo(dst []byte) []byte {
	if len(w.b) == 0 {
		w.b = append(w.b, '{')
	}
	w.b = append(w.b, '}')
	dst = append(dst, w.b...)
	if cap(w.b) <= maxKept {
		*w.room = w.b
		rooms.Put(w.room)
	}
	*w = Writer{}
	return dst
}
