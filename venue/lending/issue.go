package lending

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"usher/caps"
	"usher/caps/value"
	"usher/tools"
	"usher/tools/fault"
	"usher/tools/lending"
	"usher/ucan"
	"usher/venue/config"
)

// Request is that of [lending.Service].
func (r *Room) Request(ctx context.Context, call tools.Call, in lending.Request) (lending.Capabilities, error) {
	s := r.lent.Load()
	now := r.Now()
	end, err := r.end(call, in.Expires, now)
	if err != nil {
		return lending.Capabilities{}, err
	}
	var made []*record
	for i, id := range in.Grants {
		g := s.grant(id)
		if g == nil || s.owner != call.Owner() || slices.Contains(in.Grants[:i], id) {
			return lending.Capabilities{}, noGrant(id)
		}
		for _, other := range g.Requires {
			held := slices.Contains(in.Grants, other)
			if !held {
				if held, err = r.holds(ctx, call, other); err != nil {
					return lending.Capabilities{}, err
				}
			}
			if !held {
				return lending.Capabilities{}, refuse(lending.NoGrant, fmt.Sprintf("the grant %s requires %s: ask for both, or hold that one", id, other))
			}
		}
		rec, err := r.issue(ctx, call, s, g, &in, end)
		if err != nil {
			return lending.Capabilities{}, err
		}
		made = append(made, rec)
	}
	return r.keep(ctx, call.Owner(), made, nil)
}

func noGrant(id string) error {
	return refuse(lending.NoGrant, fmt.Sprintf("there is nothing of the grant %s for you to have. Retrying the same call will not succeed — the denial is structural.", value.Cut(id, 64)))
}

// end is when a capability ends at the latest that the caller asks for.
func (r *Room) end(call tools.Call, asked string, now time.Time) (time.Time, error) {
	end := now.Add(defaultLife)
	if asked != "" {
		var err error
		if end, err = ending(asked, now); err != nil {
			return end, err
		}
	}
	if most := now.Add(maxLife); end.After(most) {
		end = most
	}
	if proved := call.Authority().ProofEnd(); !proved.IsZero() && end.After(proved) {
		end = proved
	}
	return end.Truncate(time.Second), nil
}

// ending reads the end that is asked for.
func ending(asked string, now time.Time) (time.Time, error) {
	end, err := time.Parse(time.RFC3339, asked)
	switch {
	case err != nil:
		return end, refuse(lending.Params, "expires is no time as RFC 3339 has it")
	case !end.After(now):
		return end, refuse(lending.Params, "expires is over")
	}
	return end, nil
}

// holds reports whether the caller has a capability of a grant.
func (r *Room) holds(ctx context.Context, call tools.Call, grant string) (bool, error) {
	list, err := r.holdings(ctx, call)
	return slices.ContainsFunc(list, func(rec *record) bool { return rec.Grant == grant }), err
}

// issue makes a capability of a grant.
func (r *Room) issue(ctx context.Context, call tools.Call, s *section, g *config.Grant, in *lending.Request, end time.Time) (*record, error) {
	auth := call.Authority()
	if g.Agent != "" {
		agent, err := r.Agent(ctx, call.Owner(), g.Agent)
		if err != nil {
			return nil, noGrant(g.ID)
		}
		auth = agent.ByCaller(auth, false)
	}
	rec := &record{
		ID: name("cap"), Grant: g.ID, Owner: call.Owner(), Maker: call.Owner(), Holder: call.Owner(), Agent: call.Actor(), Behind: call.Authority().Behind(), Run: call.Authority().Run(), Purpose: in.Purpose,
		Revocation: name("rv"), Expires: end.UnixMilli(), Bearer: auth.Bearer(),
	}
	if rec.Agent == "" {
		rec.Run = ""
	}
	at, err := within(g, in.Query)
	if err != nil {
		return nil, err
	}
	if rec.Things, err = r.resolve(ctx, auth, g, at, in.Query); err != nil {
		return nil, err
	}
	if r.makes(s, g) {
		rec.Things = append(rec.Things, thing{name("rh"), cmp.Or(collectionOf(in.Query), "collection"), at.String(), true})
	}
	set := auth.Caps()
	for _, op := range slices.Sorted(maps.Keys(g.Operations)) {
		if g.Operations[op] == "*" || slices.ContainsFunc(rec.Things, func(t thing) bool { return set.Check(caps.Need(g.Operations[op], t.Path)).Possible() }) {
			rec.Operations = append(rec.Operations, op)
		}
	}
	if len(rec.Operations) == 0 || len(rec.Things) == 0 {
		return nil, noGrant(g.ID)
	}
	if rec.Authority, err = json.Marshal(auth); err != nil {
		return nil, err
	}
	return rec, r.sign(ctx, rec)
}

func collectionOf(q *lending.Query) string {
	if q == nil {
		return ""
	}
	return q.Collection
}

// makes reports whether something new can be made by a grant.
func (r *Room) makes(s *section, g *config.Grant) bool {
	return slices.ContainsFunc(s.Skills, func(k config.Skill) bool { return k.Child != "" && g.Operations[k.Operation] != "" })
}

var errQuery = refuse(lending.Params, "collection names nothing within the grant: give names with a slash between them")

// within is where the things of a query lie.
func within(g *config.Grant, q *lending.Query) (caps.Resource, error) {
	base, err := caps.ParseResource(g.With)
	if err != nil || q == nil || q.Collection == "" {
		return base, err
	}
	below, err := caps.ParseResource(q.Collection)
	if err != nil || below.DID() != "" {
		return base, errQuery
	}
	at, err := caps.ParseSegments(slices.Concat(base.Segments(), below.Segments()))
	if err != nil {
		return base, errQuery
	}
	return at, nil
}

// resolve returns what a query finds, as far as auth reaches it.
func (r *Room) resolve(ctx context.Context, auth tools.Authority, g *config.Grant, at caps.Resource, q *lending.Query) ([]thing, error) {
	var listed struct {
		Exists bool     `json:"exists"`
		Type   string   `json:"type"`
		Keys   []string `json:"keys"`
	}
	if err := r.ask(ctx, auth, "covia:list", map[string]any{"path": at.String(), "limit": maxLooked}, &listed); err != nil {
		return nil, reachError(g.ID, err)
	}
	wanted, err := limitsFor(q)
	if err != nil {
		return nil, err
	}
	var things []thing
	for _, key := range listed.Keys {
		path, err := caps.ParseSegments(append(at.Segments(), key))
		if err != nil {
			continue // nothing reaches it by a path
		}
		if !auth.Caps().Check(caps.Need("crud/read", path.String())).IsAllowed() {
			continue // also where a person would be asked, for each thing
		}
		var read struct {
			Exists bool            `json:"exists"`
			Value  json.RawMessage `json:"value"`
		}
		if err := r.ask(ctx, auth, "covia:read", map[string]any{"path": path.String()}, &read); err != nil {
			if _, skipped := errors.AsType[*lending.Error](reachError(g.ID, err)); skipped {
				continue
			}
			return nil, err
		}
		if !read.Exists {
			continue
		}
		is, err := value.Decode(read.Value, value.MaxDepth)
		if err != nil {
			return nil, err
		}
		fields, _ := is.(map[string]any)
		if !wanted.Hold(fields) {
			continue
		}
		label, _ := fields[g.Name].(string)
		things = append(things, thing{name("rh"), cmp.Or(value.Cut(label, 200), fmt.Sprintf("Item %d", len(things)+1)), path.String(), false})
		if len(things) == lending.MaxHandles-1 {
			break
		}
	}
	return things, nil
}

// reachError is the refusal of what auth does not reach, and any other error as it is.
func reachError(grant string, err error) error {
	switch fault.Of(err) {
	case fault.Denied, fault.Refused, fault.NotFound, fault.InvalidInput, fault.Waiting, fault.ApprovalRequired:
		return noGrant(grant)
	}
	return err
}

// limitsFor is what fields have to be for a query.
func limitsFor(q *lending.Query) (caps.Limits, error) {
	if q == nil || len(q.Filter) == 0 {
		return caps.Limits{}, nil
	}
	fields := make(map[string]any, len(q.Filter))
	for name, want := range q.Filter {
		is, err := value.Decode(want, value.MaxDepth)
		if err != nil {
			return caps.Limits{}, refuse(lending.Params, "a value of filter is no JSON")
		}
		fields[value.Pointer(name)] = map[string]any{"in": []any{is}}
	}
	wanted, err := caps.ParseLimits(value.Append(nil, fields))
	if err != nil {
		return caps.Limits{}, refuse(lending.Params, "filter is not taken: "+err.Error())
	}
	return wanted, nil
}

// ask makes a call within auth, and reads its answer.
func (r *Room) ask(ctx context.Context, auth tools.Authority, operation string, input, answer any) error {
	raw, err := json.Marshal(input)
	if err != nil {
		return err
	}
	res, err := r.Gate.Invoke(ctx, auth, tools.Invocation{Operation: operation, Input: raw})
	if err != nil {
		return err
	}
	return json.Unmarshal(res.Output, answer)
}

// sign makes the token of a capability: a UCAN whose resources are its handles.
func (r *Room) sign(ctx context.Context, rec *record) error {
	key, err := r.Key(ctx, rec.Owner)
	if err != nil {
		return err
	}
	list := make([]caps.Capability, len(rec.Things))
	for i, t := range rec.Things {
		if list[i], err = caps.NewCapability(rec.Owner.String()+"/"+lending.At(t.Handle), lending.CanUse); err != nil {
			return err
		}
	}
	issuer := ucan.Issuer{Key: key, Verifier: r.Verifier, Rand: r.Rand}
	links, err := issuer.Delegate(ctx, ucan.Delegation{Audience: rec.Holder, Capabilities: list, Expires: time.UnixMilli(rec.Expires), Format: ucan.JWT})
	if err != nil {
		return fmt.Errorf("sign a capability: %w", err)
	}
	rec.Token, rec.CID = links[0].Text(), links[0].CID
	return nil
}

// keep stores capabilities where whoever made them may have as many, and shows them.
func (r *Room) keep(ctx context.Context, maker ucan.DID, made []*record, expect map[string]uint64) (lending.Capabilities, error) {
	held, _, err := r.asking.Lock(ctx, maker.String())
	if err != nil {
		return lending.Capabilities{}, err
	}
	defer held.Unlock()
	if err := r.room(ctx, maker, len(made)); err != nil {
		return lending.Capabilities{}, err
	}
	if err := r.store(ctx, made, expect); err != nil {
		return lending.Capabilities{}, err
	}
	return viewOf(made), nil
}

func viewOf(list []*record) lending.Capabilities {
	out := lending.Capabilities{Capabilities: make([]lending.Capability, len(list))}
	for i, rec := range list {
		c := lending.Capability{
			ID: rec.ID, Grant: rec.Grant, Token: rec.Token, Operations: rec.Operations, Expires: time.UnixMilli(rec.Expires).UTC().Format(time.RFC3339),
			Revocation: rec.Revocation, Principal: rec.Owner.String(), Handles: make([]lending.Handle, len(rec.Things)),
		}
		for j, t := range rec.Things {
			c.Handles[j] = lending.Handle{Handle: t.Handle, Name: t.Name}
		}
		out.Capabilities[i] = c
	}
	return out
}
