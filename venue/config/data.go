package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"usher/caps"
	"usher/tools/form"
)

func (r *reader) datum(e entry, d *datum) {
	at := e.src.at(e.at)
	where, raw, ok := "", d.Value, true
	if d.Path != "" {
		where = r.dataPath(d.Path, at)
	}
	if d.File != "" && d.Value == nil {
		raw, ok = r.fileValue(d.File, e.src.at(posOfKey(e.node, "file")))
	}
	if where == "" || !ok || !r.first(where, at) || !r.apart(where, at) {
		return
	}
	r.cfg.entries[subject{"data", where}] = e
	r.cfg.Data = append(r.cfg.Data, Datum{Path: where, Value: raw})
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
			r.add(at, "%s lies below %s, and both are entries (the other at %s): put the part into the whole, or write only the parts", part, whole, r.cfg.at("data", d.Path))
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
	switch {
	case res.DID() != "" || strings.Contains(res.String(), ":"):
		r.add(at, "path %s is not in the user's own namespace: write one below w/, such as w/docs/policy", res)
		return ""
	case len(segs) < 2:
		r.add(at, "path %q is a whole namespace: write one below it, such as w/docs/policy", s)
		return ""
	}
	if segs[0] != "w" && segs[0] != "o" {
		r.add(at, "%s/ cannot be filled from here: write a path below w/ or o/, such as w/docs/policy", segs[0])
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
	switch path.Ext(name) {
	case ".json":
		var buf bytes.Buffer
		if err := json.Compact(&buf, data); err != nil {
			r.add(at, "%s is not JSON: %v", shown, err)
			return nil, false
		}
		return buf.Bytes(), true
	case ".yaml", ".yml":
		n := r.parse(newSource(shown, string(data)), data)
		if n == nil {
			return nil, false
		}
		return r.json(n, at)
	}
	return r.json(&form.Node{Kind: form.Text, Text: string(data)}, at)
}

func (r *reader) json(n *form.Node, at place) (json.RawMessage, bool) {
	raw, err := n.JSON()
	if err != nil {
		r.add(at, "%v", err)
	}
	return raw, err == nil
}

// file reads a file that the configuration names.
func (r *reader) file(name string, at place) ([]byte, bool) {
	if name == "" {
		return nil, false
	}
	if r.fsys == nil {
		r.add(at, "file %s cannot be read, since this configuration did not come from a folder: write the text itself, or load it with Load or LoadFS", name)
		return nil, false
	}
	if !fs.ValidPath(name) || strings.Contains(name, `\`) {
		r.add(at, "file %q is not within the configuration's folder: write a relative path without .., such as docs/policy.md", name)
		return nil, false
	}
	data, err := readFile(r.fsys, path.Join(r.dir, name))
	if err == nil && !utf8.Valid(data) {
		err = fmt.Errorf("the file is not UTF-8 text: save it as UTF-8")
	}
	if err != nil {
		r.add(at, "file %s: %v", name, err)
		return nil, false
	}
	return bytes.TrimPrefix(data, []byte("\ufeff")), true
}
