package config

import (
	"regexp"
	"strconv"
	"time"
)

var rootKeys = []string{"name", "user", "store", "models", "data", "agents", "orchestrations", "limits"}

const rootExample = `agents: [{id: Carol, prompt: "…", tools: ["covia:read"], caps: [{with: w/, can: crud/read}]}]`

// root reads what a file holds.
func (r *reader) root(n *node) {
	o, ok := r.object(n, "the configuration", rootKeys, rootExample)
	if !ok {
		return
	}
	for _, f := range n.fields {
		at := f.at
		switch f.key {
		case "name":
			r.scalar(o, at, &r.cfg.Name, "name", "acme-ap")
		case "user":
			r.scalar(o, at, &r.cfg.User, "user", "acme")
		case "store":
			r.scalar(o, at, &r.cfg.Store, "store", ".usher")
		case "models":
			r.models(o, f.value)
		case "data":
			for _, item := range o.list("data", "[{path: w/docs/policy, file: policy.md}]") {
				r.datum(item)
			}
		case "agents":
			for _, item := range o.list("agents", "[{id: Carol, tools: [\"covia:read\"]}]") {
				r.agent(item)
			}
		case "orchestrations":
			for _, item := range o.list("orchestrations", "[{id: pipeline, steps: […]}]") {
				r.orchestration(item)
			}
		case "limits":
			r.limits(f.value)
		}
	}
}

func (r *reader) scalar(o object, at place, to *string, key, example string) {
	if r.first(key, at) {
		*to = o.text(key, example)
		r.cfg.places[key] = at
	}
}

func (r *reader) models(o object, n *node) {
	if n.kind != mapping {
		o.wrong("models", n, "models by name", "{default: {provider: offline}}")
		return
	}
	for _, f := range n.fields {
		if !r.first("model "+f.key, f.at) {
			continue
		}
		m, ok := r.object(f.value, "model "+f.key, nil, "{provider: offline}")
		if !ok {
			continue
		}
		model := Model{Provider: m.required("provider", "offline")}
		for _, setting := range f.value.fields {
			if setting.key == "provider" {
				continue
			}
			if model.Settings == nil {
				model.Settings = map[string]any{}
			}
			model.Settings[setting.key] = setting.value.any()
			r.cfg.places[subject("model", f.key, setting.key)] = setting.value.at
			for _, part := range setting.value.fields {
				r.cfg.places[subject("model", f.key, setting.key+"."+part.key)] = part.value.at
			}
		}
		r.cfg.Models[f.key] = model
		r.cfg.places[subject("model", f.key)] = f.at
		if p := m.get("provider"); p != nil {
			r.cfg.places[subject("model", f.key, "provider")] = p.at
		}
	}
}

var limitKeys = []string{"model_calls", "tool_timeout", "tool_result", "tools_at_once", "output_tries", "call_depth"}

func (r *reader) limits(n *node) {
	o, ok := r.object(n, "limits", limitKeys, "{model_calls: 20}")
	if !ok {
		return
	}
	for _, f := range n.fields {
		if !r.first("limits."+f.key, f.at) {
			continue
		}
		l := &r.cfg.Limits
		switch f.key {
		case "model_calls":
			l.ModelCalls = o.count(f.key, "20")
		case "tools_at_once":
			l.ToolsAtOnce = o.count(f.key, "8")
		case "output_tries":
			l.OutputTries = o.count(f.key, "3")
		case "call_depth":
			l.CallDepth = o.count(f.key, "16")
		case "tool_timeout":
			l.ToolTimeout = o.duration(f.key, "300s")
		case "tool_result":
			l.ToolResult = o.bytes(f.key, "256KiB")
		}
	}
}

// most bounds counts and sizes: what is above it is a slip of the pen.
const most = 1 << 30

func (o object) count(key, example string) int {
	n := o.get(key)
	v, err := strconv.Atoi(n.text)
	if n.kind != number || err != nil || v < 1 || v > most {
		o.outOfRange(key, n, "a whole number above 0", example)
		return 0
	}
	return v
}

func (o object) duration(key, example string) time.Duration {
	n := o.get(key)
	v, err := time.ParseDuration(n.text)
	if n.kind != text || err != nil || v <= 0 {
		o.outOfRange(key, n, "a time with its unit", example)
		return 0
	}
	return v
}

var sizeForm = regexp.MustCompile(`^([0-9]{1,10})(B|KiB|MiB)?$`)

func (o object) bytes(key, example string) int {
	n := o.get(key)
	if m := sizeForm.FindStringSubmatch(n.text); m != nil && (n.kind == text || n.kind == number) {
		unit := map[string]int{"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20}[m[2]]
		if v, err := strconv.Atoi(m[1]); err == nil && v > 0 && v <= most/unit {
			return v * unit
		}
	}
	o.outOfRange(key, n, "a size up to 1024MiB", example)
	return 0
}

// outOfRange reports a value that has the right form or a near one.
func (o object) outOfRange(key string, n *node, want, example string) {
	if n.kind != number && n.kind != text {
		o.wrong(key, n, want, example)
		return
	}
	o.problems.add(n.at, "%s is %q: write %s, for example %s: %s", key, n.text, want, key, example)
}
