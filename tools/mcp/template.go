package mcp

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"usher/caps"
	"usher/caps/value"
	"usher/tools"
)

// template is a resource with fields of the input in it, as a configuration has it. The
// pieces are texts and fields by turns, the first a text.
type template struct {
	text   string
	texts  []string
	fields []field // texts has one more
}

// field is a field of the input, by the keys that lead to it.
type field struct {
	keys []string
	many bool // segments may stand there, and not one alone
	file bool // it is the path of a file, which ends the template
}

func (f *field) String() string { return strings.Join(f.keys, ".") }

var fieldForm = value.Form(`\{([A-Za-z_$][A-Za-z0-9_$-]*(?:\.[A-Za-z_$][A-Za-z0-9_$-]*)*)(\.\.\.)?\}`)

// parseTemplate reads a template. A field that may be several segments ends it: what
// followed would not be what it seems.
func parseTemplate(text string) (*template, error) {
	t := &template{text: text}
	at := 0
	for _, m := range fieldForm().FindAllStringSubmatchIndex(text, -1) {
		f := field{keys: strings.Split(text[m[2]:m[3]], "."), many: m[4] >= 0}
		last := m[1] == len(text)
		if f.many && !last {
			return nil, fmt.Errorf("%s: {%s...} stands for several segments, and must end the template", text, &f)
		}
		f.file = last && strings.HasPrefix(text, fileScheme)
		f.many = f.many || f.file
		t.texts, t.fields, at = append(t.texts, text[at:m[0]]), append(t.fields, f), m[1]
	}
	t.texts = append(t.texts, text[at:])
	for _, piece := range t.texts {
		if strings.ContainsAny(piece, "{}") {
			return nil, fmt.Errorf("%s: %q is no field: write {name} of the input's fields, {a.b} of one within one, and {name...} for several segments", text, piece)
		}
	}
	// A value never stands beside a text in one segment, where it could make another of it.
	for i := range t.fields {
		before, after := t.texts[i], t.texts[i+1]
		last := i == len(t.fields)-1
		if before != "" && !strings.HasSuffix(before, "/") || !(last && after == "") && !strings.HasPrefix(after, "/") {
			return nil, fmt.Errorf("%s: {%s} is a part of a segment: write it between slashes", text, &t.fields[i])
		}
	}
	if strings.Trim(t.texts[0], "/") == "" {
		return nil, fmt.Errorf("%s begins with no text: write for example repo/{owner}/{name}", text)
	}
	sample := t.texts[0]
	for _, piece := range t.texts[1:] {
		sample += "x" + piece
	}
	_, err := caps.ParseResource(sample)
	return t, err
}

// scope is where all resources of the template lie.
func (t *template) scope(can string) caps.Scope {
	if len(t.fields) == 0 {
		return caps.ScopeExactly(can, t.text)
	}
	least := 0
	for i, f := range t.fields {
		if !f.file { // the path of the root itself has none
			least++
		}
		least += len(strings.FieldsFunc(t.texts[i+1], func(r rune) bool { return r == '/' }))
	}
	under := t.texts[0]
	if !strings.HasSuffix(under, "://") {
		under = strings.TrimSuffix(under, "/")
	}
	return caps.ScopeUnder(can, under, least, 0)
}

// piece is a resource in the making. why says that nobody may have it.
type piece struct{ text, why string }

// fill returns the resources that the template stands for with the input: one for each
// way to choose among the entries of its lists. With a folder, the paths of files in the
// input become those that they lead to.
func (t *template) fill(input map[string]any, root *folder) ([]piece, error) {
	list := []piece{{text: t.texts[0]}}
	for i, f := range t.fields {
		var values []piece
		err := each(input, f.keys, func(text string) (string, error) {
			if f.file && root != nil {
				at, err := root.find(text)
				if err != nil {
					return "", fmt.Errorf("%s: %w", &f, err)
				}
				values = append(values, at.pieces()...)
				return at.path, nil
			}
			if f.file && strings.HasPrefix(text, "/") {
				return "", fmt.Errorf("%s is %s, an absolute path, and nobody has said which folder the server works in: give that as its root (root in its entry, or usher gateway --root)", &f, value.Quote(text))
			}
			if text == "" || !f.many && strings.Contains(text, "/") {
				return "", fmt.Errorf("%s is %s: give one segment of a path, without a slash", &f, value.Quote(text))
			}
			values = append(values, piece{text: text})
			return text, nil
		})
		if err != nil {
			return nil, err
		}
		if len(list)*len(values) > tools.MaxRequired {
			return nil, fmt.Errorf("%s stands for more than %d resources: ask for less at a time", t.text, tools.MaxRequired)
		}
		next := make([]piece, 0, len(list)*len(values))
		for _, before := range list {
			for _, value := range values {
				next = append(next, piece{before.text + value.text + t.texts[i+1], cmp.Or(before.why, value.why)})
			}
		}
		list = next
	}
	return list, nil
}

// each calls change with the texts at the keys, those of all entries where lists stand on
// the way, and puts what it returns in their place. What is missing there or is no text
// is an error, and so is a key that could be read as another: some servers take path and
// Path to be the same.
func each(v any, keys []string, change func(string) (string, error)) error {
	if len(keys) == 0 {
		return fmt.Errorf("it is %s: give a text", value.A(v))
	}
	object, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("it is %s: give an object with %s", value.A(v), keys[0])
	}
	key := keys[0]
	for other := range object {
		if other != key && value.Fold(other) == value.Fold(key) {
			return fmt.Errorf("the field %s could be read as %s: write %s alone", value.Quote(other), key, key)
		}
	}
	at, there := object[key]
	if !there {
		return fmt.Errorf("%s is missing: it says what the call is about", key)
	}
	within := func(err error) error {
		if err != nil {
			err = value.Within(value.Place(key), err)
		}
		return err
	}
	switch at := at.(type) {
	case string:
		if len(keys) > 1 {
			return within(fmt.Errorf("it is a text: give an object with %s", keys[1]))
		}
		text, err := change(at)
		object[key] = text
		return err
	case []any:
		if len(at) == 0 {
			return within(errors.New("it is empty: it says what the call is about"))
		}
		for i, item := range at {
			if text, is := item.(string); is && len(keys) == 1 {
				changed, err := change(text)
				if err != nil {
					return err
				}
				at[i] = changed
			} else if err := each(item, keys[1:], change); err != nil {
				return within(value.Within(fmt.Sprintf("[%d]", i), err))
			}
		}
		return nil
	}
	return within(each(at, keys[1:], change))
}
