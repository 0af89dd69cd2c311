package config

import (
	"bytes"
	"encoding/json"
	"strconv"

	"usher/caps"
)

var (
	orchestrationKeys = []string{"id", "description", "input", "output", "steps", "result"}
	stepKeys          = []string{"name", "op", "input", "strict", "after"}
)

const orchestrationExample = `{id: pipeline, steps: [{op: covia:read, input: {path: [input, path]}}]}`

func (r *reader) orchestration(n *node) {
	o, ok := r.object(n, "an orchestration", orchestrationKeys, orchestrationExample)
	if !ok {
		return
	}
	id := o.required("id", "pipeline")
	description := o.text("description", "Reads an invoice and decides on it.")
	if id == "" {
		return
	}
	at := o.get("id").at
	res, err := caps.ParseResource("o/" + id)
	if err != nil {
		r.add(at, "%v", err)
		return
	}
	id = res.String()[len("o/"):]
	if o.get("steps") == nil {
		r.add(n.at, "an orchestration lacks \"steps\": write for example steps: [{op: covia:read, input: {path: [input, path]}}]")
	}
	for i, step := range o.list("steps", "[{op: covia:read, input: {path: [input, path]}}]") {
		r.step(step)
		r.place(step.at, "orchestration", id, "step", strconv.Itoa(i))
	}
	if !r.first(res.String(), at) {
		return
	}
	r.place(at, "orchestration", id)
	if doc, ok := r.document(o, id, description); ok {
		r.cfg.Orchestrations = append(r.cfg.Orchestrations, Orchestration{ID: id, Document: doc})
	}
}

// step checks the form of a step; what it means is known when it is compiled.
func (r *reader) step(n *node) {
	o, ok := r.object(n, "a step", stepKeys, "{op: covia:read, input: {path: [input, path]}}")
	if !ok {
		return
	}
	o.required("op", "covia:read")
	o.text("name", "scan")
	o.flag("strict")
	for _, after := range o.list("after", "[0]") {
		if _, err := strconv.Atoi(after.text); after.kind != number || err != nil {
			r.add(after.at, "an entry of after is %s: write the number of an earlier step, the first is 0", after.kind)
		}
	}
}

// document makes what is stored at o/<id>.
func (r *reader) document(o object, id, description string) (json.RawMessage, bool) {
	var op bytes.Buffer
	op.WriteString(`{"adapter":"orchestrator"`)
	for _, key := range []string{"input", "output", "steps", "result"} {
		n := o.get(key)
		if n == nil {
			continue
		}
		raw, ok := r.json(n)
		if !ok {
			return nil, false
		}
		op.WriteString(`,"` + key + `":`)
		op.Write(raw)
	}
	op.WriteByte('}')
	doc := `{"name":` + string(quote(id))
	if description != "" {
		doc += `,"description":` + string(quote(description))
	}
	doc += `,"type":"orchestration","operation":` + op.String() + `}`
	return json.RawMessage(doc), true
}
