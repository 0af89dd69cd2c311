package config

import (
	"errors"
	"reflect"
	"strings"

	"usher/caps"
	"usher/tools/agents"
	"usher/tools/form"
)

// root reads what a file holds.
func (r *reader) root(src *source, n *form.Node) {
	f := file{Limits: r.cfg.Limits}
	if err := form.Decode(n, &f, form.YAML); err != nil {
		faults, _ := errors.AsType[form.Faults](err)
		for _, fault := range faults {
			r.add(src.at(fault.At), "%s", fault.Message)
		}
	}
	for _, field := range n.Fields {
		switch key := field.Key; key {
		case "models":
			for _, m := range field.Value.Fields {
				if r.first("model "+m.Key, entry{src, m.Value, m.At}) {
					r.cfg.Models[m.Key] = f.Models[m.Key]
				}
			}
		case "data":
			take(src, field.Value, "path", f.Data, r.datum)
		case "agents":
			take(src, field.Value, "id", f.Agents, r.agent)
		case "orchestrations":
			take(src, field.Value, "id", f.Orchestrations, r.orchestration)
		case "schedules":
			take(src, field.Value, "id", f.Schedules, r.schedule)
		case "mcp":
			take(src, field.Value, "id", f.MCP, r.server)
		case "limits":
			for _, l := range field.Value.Fields {
				r.first("limits."+l.Key, entry{src, l.Value, l.At})
			}
			r.cfg.Limits = f.Limits
		default:
			if r.first(key, entry{src, field.Value, field.At}) {
				r.section(key, &f)
			}
		}
	}
}

// take reads the entries of a list, of which each has its name under a key.
func take[T any](src *source, list *form.Node, key string, entries []T, read func(entry, *T)) {
	for i := range entries {
		item := list.Items[i]
		read(entry{src, item, item.At}.entryAt(key), &entries[i])
	}
}

// section takes a section of a file, which the configuration has under the same name.
func (r *reader) section(key string, f *file) {
	for of := range reflect.TypeFor[file]().Fields() {
		if name, _, _ := strings.Cut(of.Tag.Get("json"), ","); name == key {
			reflect.ValueOf(r.cfg).Elem().FieldByName(of.Name).Set(reflect.ValueOf(f).Elem().FieldByIndex(of.Index))
		}
	}
}

// entryAt is the entry at the value of a key, or else where it is.
func (e entry) entryAt(key string) entry {
	if v := e.node.Get(key); v != nil {
		e.at = v.At
	}
	return e
}

func (e entry) place() place { return place{e.src, e.at} }

func (r *reader) agent(e entry, a *agent) {
	if a.ID == "" || agents.CheckID(a.ID) != nil || !r.first("agent "+a.ID, e) {
		return
	}
	if a.PromptFile != "" && a.Prompt == "" {
		at := e.entryAt("prompt_file").place()
		data, ok := r.file(a.PromptFile, at)
		if a.Prompt = strings.TrimSpace(string(data)); ok && a.Prompt == "" {
			r.add(at, "prompt_file %s is empty: write the prompt into it, or remove the key", a.PromptFile)
		}
	}
	r.cfg.Agents = append(r.cfg.Agents, a.Spec)
}

func (r *reader) orchestration(e entry, o *orchestration) {
	if o.ID == "" {
		return
	}
	res, err := caps.ParseResource("o/" + o.ID)
	if err != nil {
		r.add(e.place(), "%v", err)
		return
	}
	if !r.first(res.String(), e) {
		return
	}
	id := strings.TrimPrefix(res.String(), "o/")
	r.cfg.Orchestrations = append(r.cfg.Orchestrations, Orchestration{ID: id, Document: o.document(id, e.node).JSON()})
}

// document makes what is stored at o/<id>. The steps are as they were written.
func (o *orchestration) document(id string, n *form.Node) *form.Node {
	text := func(key, s string) form.Field {
		return form.Field{Key: key, Value: &form.Node{Kind: form.Text, Text: s}}
	}
	op := &form.Node{Kind: form.Object, Fields: []form.Field{text("adapter", "orchestrator")}}
	for _, key := range []string{"input", "output", "steps", "result"} {
		if v := n.Get(key); v != nil {
			op.Fields = append(op.Fields, form.Field{Key: key, Value: v})
		}
	}
	doc := &form.Node{Kind: form.Object, Fields: []form.Field{text("name", id)}}
	if o.Description != "" {
		doc.Fields = append(doc.Fields, text("description", o.Description))
	}
	doc.Fields = append(doc.Fields, text("type", "orchestration"), form.Field{Key: "operation", Value: op})
	return doc
}
