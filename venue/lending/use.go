package lending

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"usher/caps"
	"usher/caps/value"
	"usher/tools"
	"usher/tools/fault"
	"usher/tools/lending"
	"usher/venue/config"
)

// Use is that of [lending.Service].
func (r *Room) Use(ctx context.Context, call tools.Call, in lending.Use) (json.RawMessage, error) {
	handle := in.Handle()
	id := in.CapabilityID
	if id == "" {
		var err error
		if id, err = r.byMark(ctx, "handle/"+handle); err != nil {
			return nil, err
		}
	}
	rec, err := r.find(ctx, call, id)
	if err != nil {
		return nil, err
	}
	root, err := r.stands(ctx, rec)
	if err != nil {
		return nil, err
	}
	s := r.lent.Load()
	skill, g := s.skill(in.Skill), s.grant(rec.Grant)
	if g == nil || s.owner != rec.Owner {
		return nil, refuse(lending.Gone, "the grant of the capability is no more. Retrying the same call will not succeed.")
	}
	op := ""
	if skill != nil {
		for _, name := range []string{skill.Operation, "*"} {
			if op == "" && slices.Contains(rec.Operations, name) && slices.Contains(root.Operations, name) && g.Operations[name] != "" {
				op = name
			}
		}
	}
	if op == "" {
		return nil, rec.denial(lending.Operation, in.Skill, handle)
	}
	at := slices.IndexFunc(rec.Things, func(t thing) bool { return t.Handle == handle })
	if at < 0 || rec.Things[at].Collection != (skill.Child != "") {
		return nil, rec.denial(lending.Resource, in.Skill, handle)
	}
	t := &rec.Things[at]
	path, input, err := t.input(skill, in.Arguments)
	if err != nil {
		return nil, err
	}
	set, err := permits(g, op, t.Path)
	if err != nil {
		return nil, rec.denial(lending.Resource, in.Skill, handle)
	}
	auth, err := r.Mint.Open(root.Authority)
	if err != nil {
		return nil, err
	}
	run := ""
	if rec.Owner == call.Owner() {
		run = call.Authority().Run()
	}
	res, err := r.Gate.Invoke(ctx, auth.Narrow(set).InRun(run).ChargeTo(call.Authority()), tools.Invocation{Operation: skill.Op, Input: input})
	if err != nil {
		return nil, rec.hideError(err, in.Skill, handle)
	}
	return result(skill, res.Output, path, t)
}

// Ambient is that of [lending.Service]: the row of the ledger on the call says that no
// capability was used.
func (r *Room) Ambient(ctx context.Context, call tools.Call, in lending.Ambient) (json.RawMessage, error) {
	s := r.lent.Load()
	if s.PhaseAt(r.Now()) == 3 && len(s.Grants) > 0 {
		return nil, refuse(lending.Required, "nothing is done here without a capability: ask for one by a2a/capabilities/request")
	}
	if in.Skill == "" {
		return json.RawMessage("{}"), nil
	}
	skill := s.skill(in.Skill)
	if skill == nil || s.owner != call.Owner() {
		return nil, refuse(lending.Params, "there is no such skill")
	}
	res, err := call.Invoke(ctx, skill.Op, in.Arguments)
	return res.Output, err
}

// permits is what an operation of a grant may do with a thing, as the grant is now.
func permits(g *config.Grant, op, path string) (caps.Set, error) {
	ceiling, err := caps.NewCapability(g.With, g.Operations[op])
	if err != nil {
		return caps.Set{}, err
	}
	one, err := caps.NewCapability(path, g.Operations[op])
	if err != nil {
		return caps.Set{}, err
	}
	if !ceiling.Covers(one) {
		return caps.Set{}, errUnknown
	}
	return caps.Of(one), nil
}

// input is what the operation of a skill is given: what came beside the handle, and in its
// place what that is of.
func (t *thing) input(skill *config.Skill, arguments map[string]json.RawMessage) (path string, input json.RawMessage, err error) {
	path = t.Path
	out := make(map[string]json.RawMessage, len(arguments))
	for name, v := range arguments {
		switch name {
		case lending.HandleField, skill.Child:
		case skill.Handle:
			return "", nil, refuse(lending.Params, fmt.Sprintf("%s is not given: the handle stands for it", name))
		default:
			out[name] = v
		}
	}
	if skill.Child != "" {
		var child string
		if json.Unmarshal(arguments[skill.Child], &child) != nil || child == "" || strings.Contains(child, "/") {
			return "", nil, refuse(lending.Params, skill.Child+" is no name")
		}
		base, err := caps.ParseResource(t.Path)
		if err != nil {
			return "", nil, err
		}
		at, err := caps.ParseSegments(append(base.Segments(), child))
		if err != nil {
			return "", nil, refuse(lending.Params, skill.Child+" is no name")
		}
		path = at.String()
	}
	out[skill.Handle] = value.AppendString(nil, path)
	input, err = json.Marshal(out)
	return path, input, err
}

// denial says in the words of COG-13 what is not covered, by handles alone.
func (rec *record) denial(reason lending.Reason, skill, handle string) error {
	var names []string
	for _, t := range rec.Things {
		names = append(names, fmt.Sprintf("%s (%s)", t.Handle, t.Name))
	}
	return refuse(reason, fmt.Sprintf("Capability denied: a2a/skill/invoke of %s on %s. Your capability allows: %s on %s. Retrying the same call will not succeed — the denial is structural.",
		value.Cut(skill, 64), value.Cut(handle, 40), strings.Join(rec.Operations, ", "), strings.Join(names, ", ")))
}

// hideError returns a failure of what a skill does, without what it is on.
func (rec *record) hideError(err error, skill, handle string) error {
	switch code := fault.Of(err); code {
	case fault.Denied, fault.Refused:
		return rec.denial(lending.Resource, skill, handle)
	case fault.NotFound, fault.InvalidInput:
		return refuse(lending.Params, "the skill does not take these arguments, or what they are of is no more")
	case fault.Waiting, fault.ApprovalRequired:
		return fault.New(fault.ApprovalRequired, "a person has to allow this first: try again when they have")
	default:
		return fault.New(code, "the skill failed: "+string(code))
	}
}

// result is what a caller gets of an output: nothing in it says where the thing is.
func result(skill *config.Skill, output json.RawMessage, path string, t *thing) (json.RawMessage, error) {
	tree, err := value.Decode(output, value.MaxDepth)
	if err != nil {
		return nil, fault.New(fault.Output, "the output of the skill is no JSON")
	}
	if skill.Result != "" {
		fields, _ := tree.(map[string]any)
		tree = fields[skill.Result]
	}
	return value.Append(nil, hidePath(tree, strings.NewReplacer(path, t.Handle, t.Path, t.Handle))), nil
}

// hidePath puts a handle into the place of a path in all texts of a value.
func hidePath(v any, r *strings.Replacer) any {
	switch v := v.(type) {
	case string:
		return r.Replace(v)
	case []any:
		for i := range v {
			v[i] = hidePath(v[i], r)
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[r.Replace(key)] = hidePath(item, r)
		}
		return out
	}
	return v
}
