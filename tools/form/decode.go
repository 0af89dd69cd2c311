package form

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"usher/caps"
	"usher/caps/value"
)

// Unmarshal reads raw into the form that v points to. What does not fit is a
// [Faults].
func Unmarshal(raw []byte, v any) error {
	n, err := parse(raw)
	if err != nil {
		return err
	}
	return Decode(n, v, JSON)
}

// Decode reads n into the form that v points to. Only the fields that stand in
// n change. What does not fit is a [Faults], in the style's words.
func Decode(n *Node, v any, style Style) error {
	d := decoder{style: style}
	at := reflect.ValueOf(v).Elem()
	d.object(n, at, spot{}.ofForm(at.Type()))
	if len(d.faults) > 0 {
		return d.faults
	}
	return nil
}

type decoder struct {
	style  Style
	faults Faults
}

// spot is where a value is read to, and how to speak of it.
type spot struct {
	parent, path string // of the object around it, and its own
	key          string // empty for the entries of lists and maps
	noun         string
	want         string
	example      string // as in a tag
	list         string // whose entry it is
	needed       bool   // it cannot be left out
	tag          reflect.StructTag
}

func (s spot) name() string {
	return cmp.Or(s.key, s.noun, "an entry of "+s.list)
}

func (s spot) of(m member) spot {
	out := spot{
		parent: s.path, path: m.Key, key: m.Key, noun: m.Tag.Get("noun"), want: m.Tag.Get("want"), example: m.Tag.Get("example"), tag: m.Tag,
	}
	if s.path != "" {
		out.path = s.path + "." + m.Key
	}
	return out
}

var (
	rawType      = reflect.TypeFor[json.RawMessage]()
	declaredType = reflect.TypeFor[caps.Declaration]()
	durationType = reflect.TypeFor[time.Duration]()
)

// value reads n into v.
func (d *decoder) value(n *Node, v reflect.Value, s spot) {
	switch t := v.Type(); {
	case d.isLeftOut(n, v, s):
	case t == declaredType:
		d.declaration(n, v, s)
	case t == rawType:
		if s.tag.Get("kind") == "object" && n.Kind != Object {
			d.wrong(n, s, Object.String())
			return
		}
		v.SetBytes(n.JSON())
	case s.tag.Get("on") != "" && n.Kind == Boolean: // all of it by default, or none
		if n.Text == "true" {
			v.Set(reflect.New(t.Elem()))
		}
	case t.Kind() == reflect.Pointer:
		to := reflect.New(t.Elem())
		d.value(n, to.Elem(), s)
		v.Set(to)
	case Is(t) || s.tag.Get("form") != "":
		d.object(n, v, s.ofForm(t))
	case t.Kind() == reflect.Interface:
		if plain := n.plain(); plain != nil {
			v.Set(reflect.ValueOf(plain))
		}
	case v.CanInterface() && reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		d.own(n, v, s)
	case t.Kind() == reflect.String:
		d.text(n, v, s)
	case t.Kind() == reflect.Bool:
		if n.Kind != Boolean {
			d.wrong(n, s, "true or false")
			return
		}
		v.SetBool(n.Text == "true")
	case v.CanInt():
		d.count(n, v, s)
	case v.CanFloat():
		f, err := strconv.ParseFloat(n.Text, 64)
		if n.Kind != Number || err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			d.wrong(n, s, "a number")
			return
		}
		v.SetFloat(f)
	case t.Kind() == reflect.Slice:
		d.list(n, v, s)
	case t.Kind() == reflect.Map:
		d.entries(n, v, s)
	default:
		panic("form: a field of type " + t.String() + " cannot be read")
	}
}

// isLeftOut reports whether a value of JSON stands for none, as models write what
// they leave out. Capabilities are never left out like that, nor are limits: a
// null there could be meant as none or as no bound.
func (d *decoder) isLeftOut(n *Node, v reflect.Value, s spot) bool {
	if d.style != JSON || v.Type() == declaredType || v.Type() == rawType || s.tag.Get("empty") != "" {
		return false
	}
	switch v.Kind() {
	case reflect.String:
		return n.Kind == Null || n.Kind == Text && n.Text == "" && v.Type() == reflect.TypeFor[string]()
	case reflect.Slice, reflect.Bool:
		return n.Kind == Null
	}
	return false
}

func (s spot) ofForm(t reflect.Type) spot {
	l := layoutOf(t)
	s.noun = cmp.Or(s.tag.Get("form"), s.noun, l.noun, s.key, "it")
	s.example = cmp.Or(s.example, l.example)
	return s
}

// object reads an object into a struct.
func (d *decoder) object(n *Node, v reflect.Value, s spot) {
	l := layoutOf(v.Type())
	if l.text && n.Kind == Text && d.style == JSON {
		if spelt, err := parse([]byte(n.Text)); err == nil {
			n = spelt
		}
	}
	if n.Kind != Object {
		s.key = ""
		d.wrong(n, s, Object.String())
		return
	}
	for _, f := range n.Fields {
		if !slices.Contains(l.keys, f.Key) {
			d.other(f, v, s, l)
		}
	}
	before := len(d.faults)
	for _, key := range l.required {
		if n.Get(key) == nil {
			if f := l.findNear(n, key); f != nil {
				d.fault(s.path, f.Key, f.At, "unknown key %q in %s: did you mean %q?", f.Key, s.noun, key)
				continue
			}
			i := slices.IndexFunc(l.fields, func(m member) bool { return m.Key == key })
			d.fault(s.path, "", n.At, "%s lacks %q: write for example %s: %s", s.noun, key, key, d.example(l.fields[i].Tag.Get("example")))
		}
	}
	if (l.some || s.tag.Get("required") == "*") && len(n.Fields) == 0 {
		d.fault(s.parent, s.key, n.At, "%s is empty: write for example %s: %s, or leave it out", s.noun, s.key, d.example(s.example))
		return
	}
	for _, m := range l.fields {
		if value := n.Get(m.Key); value != nil {
			at := s.of(m)
			at.needed = slices.Contains(l.required, m.Key)
			d.value(value, v.FieldByIndex(m.Index), at)
		}
	}
	if c, ok := v.Addr().Interface().(Checker); ok && len(d.faults) == before {
		if err := c.Check(); err != nil {
			d.check(n, s.path, err)
		}
	}
}

// findNear finds the key of a form that takes any whose name is nearly the one
// that it lacks; others are unknown keys already.
func (l *layout) findNear(n *Node, key string) *Field {
	for i, f := range n.Fields {
		if l.rest != nil && !slices.Contains(l.keys, f.Key) && Nearest(f.Key, []string{key}) != "" {
			return &n.Fields[i]
		}
	}
	return nil
}

// other reads a key that no field has.
func (d *decoder) other(f Field, v reflect.Value, s spot, l *layout) {
	if l.rest == nil {
		if d.full() {
			return
		}
		instead := "the keys are " + strings.Join(l.keys, ", ")
		if near := Nearest(f.Key, l.keys); near != "" {
			instead = fmt.Sprintf("did you mean %q?", near)
		}
		d.fault(s.path, f.Key, f.At, "unknown key %q in %s: %s", value.Cut(f.Key, 200), s.noun, instead)
		return
	}
	rest := v.FieldByIndex(l.rest)
	if rest.IsNil() {
		rest.Set(reflect.MakeMap(rest.Type()))
	}
	value := reflect.New(rest.Type().Elem()).Elem()
	d.value(f.Value, value, spot{parent: s.path, path: s.path, key: f.Key})
	rest.SetMapIndex(reflect.ValueOf(f.Key), value)
}

func (d *decoder) text(n *Node, v reflect.Value, s spot) {
	enum := s.tag.Get("enum")
	switch {
	case (n.Kind == Number || n.Kind == Boolean) && s.key != "":
		d.fault(s.parent, s.key, n.At, "%s is %s: in quotes it is text, %s: %q", s.name(), n.Kind, s.key, n.Text)
	case n.Kind != Text:
		d.wrong(n, s, "text")
	case strings.TrimSpace(n.Text) == "" && s.tag.Get("empty") == "":
		d.misfit(&Node{At: n.At}, s, "empty", "text")
	case enum != "" && !slices.Contains(strings.Split(enum, "|"), n.Text):
		d.fault(s.parent, s.key, n.At, "%s %q: write %s", s.name(), n.Text, cmp.Or(s.want, strings.ReplaceAll(enum, "|", " or ")))
	default:
		v.SetString(n.Text)
	}
}

// most bounds counts and sizes: what is above it is a slip of the pen.
const most = 1 << 30

var (
	countForm = value.Form(`^(0|[1-9][0-9]{0,17})$`) // of at most 18 digits, which always fit
	sizeForm  = value.Form(`^([0-9]{1,10})(B|KiB|MiB)?$`)
)

// count reads a whole number, a size or a time.
func (d *decoder) count(n *Node, v reflect.Value, s spot) {
	var i int64
	var want string
	ok := n.Kind == Number
	switch {
	case v.Type() == durationType:
		want = "a time with its unit"
		t, err := time.ParseDuration(n.Text)
		i, ok = int64(t), n.Kind == Text && err == nil && t > 0
	case s.tag.Get("unit") == "bytes":
		want = "a size up to 1024MiB"
		if m := sizeForm().FindStringSubmatch(n.Text); m != nil {
			i, _ = strconv.ParseInt(m[1], 10, 64) // of at most 10 digits
			i *= map[string]int64{"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20}[m[2]]
		}
		ok = (ok || n.Kind == Text) && i > 0 && i <= most
	case s.tag.Get("min") == "any":
		want = "a whole number"
		var err error
		i, err = strconv.ParseInt(n.Text, 10, 64)
		ok = ok && err == nil
	default:
		want = "a whole number"
		if s.tag.Get("min") != "0" {
			want += " above 0"
		}
		i, _ = strconv.ParseInt(n.Text, 10, 64)
		ok = ok && countForm().MatchString(n.Text) && (i > 0 || s.tag.Get("min") == "0") && (v.Kind() == reflect.Int64 || i <= most)
	}
	switch {
	case ok:
		v.SetInt(i)
	case n.Kind == Text && strings.HasPrefix(want, "a whole"): // and may be anything
		d.wrong(n, s, want)
	default:
		d.outOfRange(n, s, want)
	}
}

// own lets a type read itself.
func (d *decoder) own(n *Node, v reflect.Value, s spot) {
	number := s.tag.Get("kind") == "number"
	if number && n.Kind != Number {
		d.wrong(n, s, "a number")
	} else if err := v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(n.JSON()); err != nil {
		d.fault(s.parent, s.key, n.At, "%s: %w", s.name(), err)
	} else if number && v.IsZero() && s.tag.Get("min") != "0" {
		d.outOfRange(n, s, "a number above 0")
	}
}

func (d *decoder) list(n *Node, v reflect.Value, s spot) {
	if n.Kind != List {
		d.wrong(n, s, "a list")
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items))
	for i, item := range n.Items {
		d.value(item, out.Index(i), d.entry(s, "["+strconv.Itoa(i)+"]"))
	}
	v.Set(out)
}

// entry is the spot of an entry of a list or a map.
func (d *decoder) entry(s spot, at string) spot {
	out := spot{parent: s.path + at, path: s.path + at, list: s.key, noun: s.noun, want: s.tag.Get("each"), tag: s.tag}
	if example, err := parse([]byte(strings.ReplaceAll(s.example, "'", `"`))); err == nil && len(example.Items) > 0 {
		out.example = example.Items[0].Text
	}
	return out
}

func (d *decoder) entries(n *Node, v reflect.Value, s spot) {
	if n.Kind != Object {
		d.wrong(n, s, Object.String())
		return
	}
	out := reflect.MakeMap(v.Type())
	for _, f := range n.Fields {
		value, at := reflect.New(v.Type().Elem()).Elem(), d.entry(s, "."+f.Key)
		at.noun += " " + f.Key
		d.value(f.Value, value, at)
		out.SetMapIndex(reflect.ValueOf(f.Key), value)
	}
	v.Set(out)
}

// declaration reads capabilities: absent, null and a list are three things. The
// entries are read one by one, so that a fault is shown where it stands.
func (d *decoder) declaration(n *Node, v reflect.Value, s spot) {
	before := len(d.faults)
	switch n.Kind {
	case Null:
	case List:
		var entries []capability
		s.noun, s.want, s.example = "", "", ""
		d.list(n, reflect.ValueOf(&entries).Elem(), s)
	default:
		d.wrong(n, s, "a list, or [] for nothing")
	}
	if len(d.faults) == before {
		d.own(n, v, s)
	}
}
