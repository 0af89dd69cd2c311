package config

import (
	"strconv"
	"strings"

	"usher/tools/agents"
)

var agentKeys = []string{
	"id", "description", "model", "prompt", "prompt_file", "tools", "context", "output", "authority", "identity", "caps", "parent", "budgets",
}

const agentExample = `{id: Carol, prompt: "…", tools: ["covia:read"], caps: [{with: w/, can: crud/read}]}`

func (r *reader) agent(n *node) {
	o, ok := r.object(n, "an agent", agentKeys, agentExample)
	if !ok {
		return
	}
	spec := agents.Spec{
		ID:          o.required("id", "Carol"),
		Description: o.text("description", "Approves payments."),
		Model:       o.text("model", "default"),
		Prompt:      o.text("prompt", "You approve payments by the policy in your context."),
		Authority:   o.text("authority", agents.AuthorityCaller),
		Identity:    o.text("identity", agents.IdentityOwn),
	}
	at := n.at
	if id := o.get("id"); id != nil {
		at = id.at
	}
	if spec.ID != "" {
		if err := agents.CheckID(spec.ID); err != nil {
			r.add(at, "%v", err)
			return
		}
		if !r.first("agent "+spec.ID, at) {
			return
		}
	}
	r.place(at, "agent", spec.ID)
	if m := o.get("model"); m != nil {
		r.place(m.at, "agent", spec.ID, "model")
	}
	r.promptFile(o, &spec)
	if a := o.get("authority"); a != nil && spec.Authority != "" &&
		spec.Authority != agents.AuthorityCaller && spec.Authority != agents.AuthorityOwn {
		r.add(a.at, "authority %q: write caller (bounded by whoever asks) or own", spec.Authority)
	}
	if i := o.get("identity"); i != nil && spec.Identity != "" &&
		spec.Identity != agents.IdentityOwner && spec.Identity != agents.IdentityOwn {
		r.add(i.at, "identity %q: write owner (it acts as its owner) or own (by a key of its own)", spec.Identity)
	}
	spec.Tools = r.tools(o, spec.ID)
	spec.Context = r.context(o, spec.ID)
	if out := o.get("output"); out != nil {
		if out.kind != mapping {
			o.wrong("output", out, "a JSON Schema", "{type: object}")
		} else {
			spec.Output, _ = r.json(out)
			r.place(out.at, "agent", spec.ID, "output")
		}
	}
	spec.Caps = r.caps(o, spec.ID)
	spec.Budgets = r.budgets(o, spec.ID)
	if parent := o.text("parent", "Dave"); parent != "" {
		spec.Parent = parent
		r.cfg.Parents[spec.ID] = parent
		r.place(o.get("parent").at, "agent", spec.ID, "parent")
	}
	r.cfg.Agents = append(r.cfg.Agents, spec)
}

// promptFile reads the prompt from a file, where it stands in one.
func (r *reader) promptFile(o object, spec *agents.Spec) {
	file := o.get("prompt_file")
	if file == nil {
		return
	}
	if o.get("prompt") != nil {
		r.add(file.at, "an agent has either prompt or prompt_file: write one of them")
		return
	}
	data, ok := r.file(o.text("prompt_file", "carol.md"), file.at)
	if !ok {
		return
	}
	if spec.Prompt = strings.TrimSpace(string(data)); spec.Prompt == "" {
		r.add(file.at, "prompt_file %s is empty: write the prompt into it, or remove the key", file.text)
	}
}

func (r *reader) tools(o object, id string) []string {
	var out []string
	for _, n := range o.list("tools", `["covia:read", "json:*"]`) {
		if n.kind != text || strings.TrimSpace(n.text) == "" {
			r.add(n.at, "a tool is %s here: write its name, for example covia:read", n.kind)
			continue
		}
		r.place(n.at, "agent", id, "tool", strconv.Itoa(len(out)))
		out = append(out, n.text)
	}
	return out
}

var contextKeys = []string{"path", "text", "op", "input", "label", "required"}

func (r *reader) context(o object, id string) []agents.ContextEntry {
	var out []agents.ContextEntry
	for _, n := range o.list("context", "[{path: w/docs/policy, label: Policy}]") {
		c, ok := r.object(n, "a context entry", contextKeys, "{path: w/docs/policy, label: Policy}")
		if !ok {
			continue
		}
		entry := agents.ContextEntry{
			Path: c.text("path", "w/docs/policy"), Text: c.text("text", "Payments run on Fridays."),
			Label: c.text("label", "Policy"), Required: c.flag("required"), Op: c.text("op", "covia:list"),
		}
		if in := c.get("input"); in != nil {
			if in.kind != mapping {
				c.wrong("input", in, "the operation's fields", "{path: w/inbox}")
				continue
			}
			entry.Input, _ = r.json(in)
		}
		at, sources := n.at, 0
		for _, key := range []string{"path", "text", "op"} {
			if source := c.get(key); source != nil {
				at = source.at
				sources++
			}
		}
		if sources != 1 {
			r.add(n.at, "a context entry has one of path, text and op: write one of them")
			continue
		}
		if entry.Path != "" || entry.Op != "" {
			if err := entry.Check(); err != nil {
				r.add(at, "%v", err)
			}
		}
		r.place(at, "agent", id, "context", strconv.Itoa(len(out)))
		out = append(out, entry)
	}
	return out
}

// place remembers where something stands, for [Config.Lint].
func (r *reader) place(at place, parts ...string) { r.cfg.places[subject(parts...)] = at }

// subject is the key of a place.
func subject(parts ...string) string { return strings.Join(parts, "\x00") }
