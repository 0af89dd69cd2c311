package config

import (
	"context"
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
	at    place
	ops   []*tools.Operation
	plan  string // path of the orchestration
	scope caps.Request
}

// toolsOf resolves an agent's tools and finds those that mean nothing.
func (l *linter) toolsOf(a *agents.Spec) []tool {
	var out []tool
	for i, ref := range a.Tools {
		at := l.config.at("agent", a.ID, "tools", strconv.Itoa(i))
		t, err := l.resolve(ref)
		if err != nil {
			l.report(LevelError, at, "agent "+a.ID, fmt.Sprintf("there is no tool %q", ref), err.Error())
			continue
		}
		if slices.Contains(a.Tools[:i], ref) {
			l.report(LevelWarning, at, "agent "+a.ID, fmt.Sprintf("the tool %q is listed twice", ref), "remove one of them")
			continue
		}
		t.at = at
		out = append(out, t)
	}
	return out
}

// resolve finds what a reference means. The error is advice.
func (l *linter) resolve(ref string) (tool, error) {
	if adapter, all := strings.CutSuffix(ref, ":*"); all {
		return l.family(ref, adapter)
	}
	if at, err := caps.ParseResource(ref); err == nil {
		if l.operations[at.String()] {
			return tool{ref: ref, plan: at.String(), scope: caps.NeedOn("invoke", at)}, nil
		}
	}
	op, err := l.registry.Resolve(context.Background(), ucan.DID{}, ref, nil)
	if err == nil {
		return tool{ref: ref, ops: []*tools.Operation{op}}, nil
	}
	if near := form.Nearest(ref, l.operationNames()); near != "" {
		return tool{}, errors.New("did you mean " + near + "?")
	}
	return tool{}, errors.New("write the name of an operation, adapter:* for all of an adapter, or o/ and the id of an orchestration")
}

func (l *linter) family(ref, adapter string) (tool, error) {
	t := tool{ref: ref}
	var adapters []string
	for _, op := range l.registry.All() {
		name, _, _ := strings.Cut(op.Name(), ":")
		adapters = append(adapters, name)
		if strings.HasPrefix(op.Name(), adapter+":") {
			t.ops = append(t.ops, op)
		}
	}
	if len(t.ops) > 0 {
		return t, nil
	}
	if near := form.Nearest(adapter, adapters); near != "" {
		return tool{}, fmt.Errorf("did you mean %s:*?", near)
	}
	return tool{}, errors.New("the adapters are " + strings.Join(slices.Compact(adapters), ", "))
}

func (l *linter) operationNames() []string {
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
	return names
}

// could reports whether set allows any call of the tool.
func (t tool) could(set caps.Set) bool {
	if t.plan != "" {
		return set.Check(t.scope).Allowed()
	}
	return slices.ContainsFunc(t.ops, func(op *tools.Operation) bool { return op.CouldAllow(set) })
}

// coverage finds tools that the gate would refuse whatever the input.
func (l *linter) coverage(a *agents.Spec, listed []tool) {
	set := l.held(a.ID)
	for _, t := range listed {
		if t.could(set) {
			continue
		}
		l.report(LevelWarning, t.at, "agent "+a.ID, fmt.Sprintf("no capability covers %s, so it is never offered", t.ref), t.advice(set))
	}
}

// advice is a capability that would do, for the first requirement that nothing
// of set meets.
func (t tool) advice(set caps.Set) string {
	const form = "add a capability such as {with: %s, can: %s}, or remove the tool"
	if t.plan != "" {
		return fmt.Sprintf(form, t.plan, "invoke")
	}
	op := t.ops[0]
	for _, alternatives := range op.Scopes() {
		if len(alternatives) == 0 || slices.ContainsFunc(alternatives, set.CouldAllow) {
			continue
		}
		switch sc := alternatives[0]; {
		case sc.AnyResource: // the ability alone decides, so this is the narrowest
			return fmt.Sprintf(form, op.Path(), sc.Can)
		case sc.Under == "":
			return fmt.Sprintf("add a capability with can: %s, or remove the tool", sc.Can)
		default:
			return fmt.Sprintf(form, sc.Under+"/", sc.Can)
		}
	}
	return "remove the tool"
}
