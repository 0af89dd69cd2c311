package config

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"usher/caps"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/form"
	"usher/ucan"
)

// tool is what one entry of an agent's tools means: operations, or an
// orchestration of the configuration.
type tool struct {
	ref   string
	n     int // its number in the list
	ops   []*tools.Operation
	plan  string // path of the orchestration
	scope caps.Request
}

// resolve finds what an agent's tools mean, and those that mean nothing.
func (a *agentLint) resolve() {
	for i, ref := range a.Tools {
		t, err := a.lookUp(ref)
		switch {
		case err != nil:
			a.fault(fmt.Sprintf("there is no tool %q", ref), err.Error(), "tools", strconv.Itoa(i))
		case slices.Contains(a.Tools[:i], ref):
			a.warn(fmt.Sprintf("the tool %q is listed twice", ref), "remove one of them", "tools", strconv.Itoa(i))
		default:
			t.n = i
			a.tools = append(a.tools, t)
		}
	}
}

// lookUp finds what a reference means. The error is advice.
func (l *linter) lookUp(ref string) (tool, error) {
	if adapter, all := strings.CutSuffix(ref, ":*"); all {
		return l.family(ref, adapter)
	}
	if at, err := caps.ParseResource(ref); err == nil && l.operations[at.String()] {
		return tool{ref: ref, plan: at.String(), scope: caps.NeedOn("invoke", at)}, nil
	}
	if t, servers, below := l.importOf(ref); below && len(t.ops) > 0 {
		return t, nil
	} else if below {
		return tool{}, errors.New(cmp.Or(form.Suggest(ref, servers), "write the tools of a server as mcp/<id>/<tool>, or mcp/<id>/* for all of them, and the server under mcp"))
	}
	op, err := l.registry.Resolve(context.Background(), ucan.DID{}, caps.Set{}, ref, nil)
	if err == nil {
		return tool{ref: ref, ops: []*tools.Operation{op}}, nil
	}
	var names []string
	for _, op := range l.registry.All() {
		names = append(names, op.Name(), op.Path())
	}
	for path, callable := range l.operations {
		if callable {
			names = append(names, path)
		}
	}
	slices.Sort(names)
	return tool{}, errors.New(cmp.Or(form.Suggest(ref, names), "write the name of an operation, adapter:* for all of an adapter, or o/ and the id of an orchestration"))
}

func (l *linter) family(ref, adapter string) (tool, error) {
	t := tool{ref: ref}
	var families []string
	for _, op := range l.registry.All() {
		name, _, _ := strings.Cut(op.Name(), ":")
		families = append(families, name+":*")
		if name == adapter {
			t.ops = append(t.ops, op)
		}
	}
	if len(t.ops) > 0 {
		return t, nil
	}
	return tool{}, errors.New(cmp.Or(form.Suggest(ref, families), "there are "+strings.Join(slices.Compact(families), ", ")))
}

// coverage finds tools that the gate would refuse whatever the input.
func (a *agentLint) coverage() {
	if a.Ask != nil && *a.Ask { // its owner is asked
		return
	}
	set := a.capsOf(a.ID)
	for _, t := range a.tools {
		could := t.plan != "" && set.Check(t.scope).Possible() ||
			slices.ContainsFunc(t.ops, func(op *tools.Operation) bool { return op.CouldAllow(set) })
		if !could {
			a.warn("no capability covers "+t.ref+", so it is never offered", t.advice(set), "tools", strconv.Itoa(t.n))
		}
	}
}

// advice is a capability that would do, for the first requirement that nothing
// of set meets.
func (t tool) advice(set caps.Set) string {
	with, can := t.plan, caps.Ability("invoke")
	if t.plan == "" {
		scopes := t.ops[0].Scopes()
		i := slices.IndexFunc(scopes, func(alternatives []caps.Scope) bool {
			return len(alternatives) > 0 && !slices.ContainsFunc(alternatives, set.CouldAllow)
		})
		if i < 0 {
			return "remove the tool"
		}
		switch sc := scopes[i][0]; {
		case sc.AnyResource: // the ability alone decides, so this is the narrowest
			with, can = t.ops[0].Path(), sc.Can
		case sc.Under == "":
			return fmt.Sprintf("add a capability with can: %s, or remove the tool", sc.Can)
		default:
			with, can = sc.Under+"/", sc.Can
		}
	}
	return fmt.Sprintf("add a capability such as {with: %s, can: %s}, or remove the tool", with, can)
}

// context finds context that the gate would refuse to read.
func (a *agentLint) context() {
	for i, entry := range a.Context {
		if entry.Text == "" {
			a.unreadable(strconv.Itoa(i), entry)
		}
	}
}

func (a *agentLint) unreadable(n string, entry agents.ContextEntry) {
	key, what := "path", entry.Path
	if entry.Op != "" {
		key, what = "op", entry.Op
	}
	level, effect := LevelWarning, "so it is never there"
	if entry.Required {
		level, effect = LevelError, "and the agent requires it, so each of its turns fails"
	}
	needs, err := a.needs(entry)
	for _, need := range needs {
		err = cmp.Or(err, need.Err())
	}
	if err != nil {
		a.fault("its context cannot be read: "+err.Error(), "", "context", n, key)
		return
	}
	for _, need := range needs {
		message, advice := "", ""
		if never := caps.Unrestricted().Check(need); !never.IsAllowed() {
			message = "its context " + what + " cannot be read by anyone, " + effect + ": " + never.Denial("").Why
		} else if !a.capsOf(a.ID).Check(need).Possible() {
			message = "its own capabilities do not let it read its context " + what + ", " + effect
			with := need.Target()
			if need.Resource().IsRoot() {
				with = `""`
			}
			advice = "add the capability {with: " + with + ", can: " + string(need.Ability()) + "}"
		}
		if message != "" {
			a.report(level, a.subject(), message, advice, "context", n, key)
			return
		}
	}
}

// needs is what an entry of a context requires.
func (a *agentLint) needs(entry agents.ContextEntry) (all []caps.Request, err error) {
	reference, input := entry.Op, entry.Input
	if reference == "" {
		reference = "covia:read"
		input, _ = json.Marshal(map[string]string{"path": entry.Path}) // a map of strings always encodes
	}
	t, err := a.lookUp(reference)
	if err != nil {
		return nil, fmt.Errorf("there is no operation %q: %w", reference, err)
	}
	return t.needs(input)
}

// needs is what the call of a tool with that input requires.
func (t tool) needs(input json.RawMessage) (all []caps.Request, err error) {
	if t.plan != "" {
		return []caps.Request{t.scope}, nil
	}
	for _, op := range t.ops {
		needs, err := op.Requirements(json.RawMessage(cmp.Or(string(input), "{}")))
		if err != nil {
			return nil, cmp.Or(errors.Unwrap(err), err)
		}
		all = append(all, needs...)
	}
	return all, nil
}
