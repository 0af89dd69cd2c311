package config

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"usher/caps"
	"usher/tools/form"
)

func (r *reader) datum(e entry, d *datum) {
	where, raw, ok := "", d.Value, true
	if d.Path != "" {
		where = r.dataPath(d.Path, e.place())
	}
	if d.File != "" && d.Value == nil {
		raw, ok = r.fileValue(d.File, e.entryAt("file").place())
	}
	if where != "" && ok && r.first(where, e) && r.apart(where, e.place()) {
		r.cfg.Data = append(r.cfg.Data, Datum{Path: where, Value: raw})
	}
}

// apart refuses an entry that another one writes over, or writes a part of: each
// edit of the whole would take the part away.
func (r *reader) apart(where string, at place) bool {
	for _, d := range r.cfg.Data {
		whole, part := d.Path, where
		if len(part) < len(whole) {
			whole, part = part, whole
		}
		if strings.HasPrefix(part, whole+"/") {
			r.add(at, "%s lies below %s, and both are entries (the other at %s): put the part into the whole, or write only the parts", part, whole, r.cfg.at(d.Path))
			return false
		}
	}
	return true
}

// dataPath returns the canonical form of a path that a configuration may fill.
func (r *reader) dataPath(s string, at place) string {
	res, err := caps.ParseResource(s)
	if err != nil {
		r.add(at, "%v", err)
		return ""
	}
	segs := res.Segments()
	if res.DID() != "" || strings.Contains(res.String(), ":") || len(segs) < 2 || segs[0] != "w" && segs[0] != "o" {
		r.add(at, "path %q cannot be filled from here: write one below w/ or o/, such as w/docs/policy", s)
		return ""
	}
	return res.String()
}

// fileValue is what a file beside the configuration holds: the value of a .json
// or .yaml file, the text of any other.
func (r *reader) fileValue(name string, at place) (json.RawMessage, bool) {
	data, ok := r.file(name, at)
	if !ok {
		return nil, false
	}
	shown := r.shown(path.Join(r.dir, name))
	n := &form.Node{Kind: form.Text, Text: string(data)}
	switch path.Ext(name) {
	case ".json":
		var buf bytes.Buffer
		err := json.Compact(&buf, data)
		if err != nil {
			r.add(at, "%s is not JSON: %v", shown, err)
		}
		return buf.Bytes(), err == nil
	case ".yaml", ".yml":
		if n = r.parse(newSource(shown, n.Text), data); n == nil {
			return nil, false
		}
	}
	return n.JSON(), true
}

// file reads a file that the configuration names.
func (r *reader) file(name string, at place) ([]byte, bool) {
	switch {
	case name == "":
		return nil, false
	case r.fsys == nil:
		r.add(at, "file %s cannot be read, since this configuration did not come from a folder: write the text itself, or load it with Load or LoadFS", name)
		return nil, false
	case !fs.ValidPath(name) || strings.Contains(name, `\`):
		r.add(at, "file %q is not within the configuration's folder: write a relative path without .., such as docs/policy.md", name)
		return nil, false
	}
	data, err := r.readFile(path.Join(r.dir, name))
	if err == nil && !utf8.Valid(data) {
		err = errNotUTF8
	}
	if err != nil {
		r.add(at, "file %s: %v", name, err)
	}
	return bytes.TrimPrefix(data, []byte("\ufeff")), err == nil
}
