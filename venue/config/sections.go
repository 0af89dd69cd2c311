package config

import (
	"encoding/json"
	"errors"
	"strings"

	"usher/caps"
	"usher/tools/agents"
	"usher/tools/form"
)

// entry is where something of the configuration stands.
type entry struct {
	src  *source
	node *form.Node
	at   form.Pos // of its name
}

// subject is the key of an entry: its kind, and its name.
type subject struct{ kind, id string }

// at is where a part of something stands, or else the nearest around it: its
// path are keys, and numbers of entries.
func (c *Config) at(kind, id string, path ...string) place {
	e, ok := c.entries[subject{kind, id}]
	if !ok {
		return place{}
	}
	at := e.at
	for n, i := e.node, 0; i < len(path); i++ {
		if n = n.Part(path[i]); n == nil {
			break
		}
		at = n.At
	}
	return e.src.at(at)
}

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
		at := src.at(field.At)
		switch field.Key {
		case "name":
			r.once(at, "name", &r.cfg.Name, f.Name)
		case "user":
			r.once(at, "user", &r.cfg.User, f.User)
		case "store":
			r.once(at, "store", &r.cfg.Store, f.Store)
		case "models":
			for _, m := range field.Value.Fields {
				if r.first("model "+m.Key, src.at(m.At)) {
					r.cfg.Models[m.Key] = f.Models[m.Key]
					r.cfg.entries[subject{"model", m.Key}] = entry{src, m.Value, m.At}
				}
			}
		case "data":
			for i := range f.Data {
				r.datum(entry{src, field.Value.Items[i], posOfKey(field.Value.Items[i], "path")}, &f.Data[i])
			}
		case "agents":
			for i := range f.Agents {
				r.agent(entry{src, field.Value.Items[i], posOfKey(field.Value.Items[i], "id")}, &f.Agents[i])
			}
		case "orchestrations":
			for i := range f.Orchestrations {
				r.orchestration(entry{src, field.Value.Items[i], posOfKey(field.Value.Items[i], "id")}, &f.Orchestrations[i])
			}
		case "ledger":
			if r.first("ledger", at) {
				r.cfg.Ledger = f.Ledger
			}
		case "limits":
			for _, l := range field.Value.Fields {
				r.first("limits."+l.Key, src.at(l.At))
			}
			r.cfg.Limits = f.Limits
		}
	}
}

// posOfKey is where the value of a key stands, or else the whole.
func posOfKey(n *form.Node, key string) form.Pos {
	if v := n.Get(key); v != nil {
		return v.At
	}
	return n.At
}

func (r *reader) once(at place, key string, to *string, value string) {
	if r.first(key, at) {
		*to = value
	}
}

func (r *reader) agent(e entry, a *agent) {
	at := e.src.at(e.at)
	if a.ID == "" || agents.CheckID(a.ID) != nil || !r.first("agent "+a.ID, at) {
		return
	}
	r.cfg.entries[subject{"agent", a.ID}] = e
	if a.PromptFile != "" && a.Prompt == "" {
		at := e.src.at(posOfKey(e.node, "prompt_file"))
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
	at := e.src.at(e.at)
	res, err := caps.ParseResource("o/" + o.ID)
	if err != nil {
		r.add(at, "%v", err)
		return
	}
	if !r.first(res.String(), at) {
		return
	}
	id := strings.TrimPrefix(res.String(), "o/")
	r.cfg.entries[subject{"orchestration", id}] = e
	if doc, err := o.document(id, e.node); err != nil {
		r.add(at, "%v", err)
	} else {
		r.cfg.Orchestrations = append(r.cfg.Orchestrations, Orchestration{ID: id, Document: doc})
	}
}

// document makes what is stored at o/<id>. The steps are as they were written.
func (o *orchestration) document(id string, n *form.Node) (json.RawMessage, error) {
	text := func(s string) *form.Node { return &form.Node{Kind: form.Text, Text: s} }
	op := &form.Node{Kind: form.Object, Fields: []form.Field{{Key: "adapter", Value: text("orchestrator")}}}
	for _, key := range []string{"input", "output", "steps", "result"} {
		if v := n.Get(key); v != nil {
			op.Fields = append(op.Fields, form.Field{Key: key, Value: v})
		}
	}
	doc := &form.Node{Kind: form.Object, Fields: []form.Field{{Key: "name", Value: text(id)}}}
	if o.Description != "" {
		doc.Fields = append(doc.Fields, form.Field{Key: "description", Value: text(o.Description)})
	}
	doc.Fields = append(doc.Fields, form.Field{Key: "type", Value: text("orchestration")}, form.Field{Key: "operation", Value: op})
	return doc.JSON()
}
