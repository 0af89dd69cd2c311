package venue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
	"usher/venue"
)

// obedient is a model that makes the call that it is told to make, and tells
// what came of it. It has no state of its own, so many agents have one.
type obedient struct{ results sync.Map } // result by the id of the order

type order struct {
	ID    string         `json:"id"`
	Tool  string         `json:"tool"`
	Input map[string]any `json:"input"`
}

func (o *obedient) Generate(_ context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	last := req.Messages[len(req.Messages)-1]
	return func(yield func(runtime.Chunk, error) bool) {
		if last.Role == runtime.RoleTool {
			o.results.Store(last.CallID, last)
			yield(runtime.Chunk{Text: last.Text}, nil)
			return
		}
		var what struct {
			ID, Tool string
			Input    json.RawMessage
		}
		if err := json.Unmarshal([]byte(last.Text[strings.Index(last.Text, "{"):]), &what); err != nil {
			yield(runtime.Chunk{}, err)
			return
		}
		yield(runtime.Chunk{Call: &runtime.CallDelta{ID: what.ID, Name: what.Tool, Arguments: string(what.Input)}}, nil)
	}
}

// What sequences are drawn from. Places are below a user's name.
var (
	names  = []string{"alice", "bob", "carol"}
	actors = []string{"alice", "alice", "alice", "bob", "bob", "carol"}
	ids    = []string{"a1", "a2", "a3", "a4"}
	leaves = []string{"/w/x/1", "/w/x/2", "/w/xy/1"}
	slots  = []string{"/o/p", "/o/p1", "/o/p2"}
	places = []string{"", "/w", "/w/x", "/w/x/1", "/w/xy", "/o", "/o/p", "/o/p1", "/g", "/g/a1", "/g/a2"}
	powers = []grant{
		{"", "*"},
		{"/w", "crud"},
		{"/w", "crud"},
		{"/w", "crud/read"},
		{"/w/x", "crud"},
		{"/w/x", "crud/write"},
		{"/w/x/1", "crud"},
		{"/w/xy", "crud/read"},
		{"/o", "crud"},
		{"/o", "crud"},
		{"/o/p", "crud"},
		{"/o/p1", "crud/write"},
		{"/o", "invoke"},
		{"/o/p", "invoke"},
		{"", "invoke"},
		{"", "invoke"},
		{"/g", "agent"},
		{"/g", "agent"},
		{"/g", "agent/request"},
		{"/g", "agent/request"},
		{"/g/a2", "agent"},
		{"/g", "agent/create"},
		{"", "ucan"},
		{"/w", "ucan"},
	}
	abroad = []grant{
		{"/w", "crud"}, {"/w", "crud/read"}, {"/w/x", "crud"}, {"/w/x", "crud/read"}, {"/w/x/1", "crud"}, {"/w/xy", "crud/write"}, {"/o", "crud"}, {"/o", "crud"}, {"/o/p", "crud/write"},
	}
	kinds = []string{
		"covia_read", "covia_read", "covia_read", "covia_write", "covia_write", "covia_delete", "covia_copy", "covia_copy",
		"script", "script", "script", "part", "part", "copy", "copy", "run", "run", "run", "run", "run",
		"agent_create", "agent_create", "agent_create", "agent_fork", "agent_update", "agent_suspend", "agent_resume", "agent_delete", "remove", "agent_adopt", "adopt",
		"ucan_delegate", "ucan_delegate", "ucan_issue", "ucan_revoke",
	}
)

// estate is a venue with its users, and the world that the oracle takes it for.
type estate struct {
	ctx   context.Context
	fatal func(format string, args ...any)
	model *obedient
	users map[string]*venue.User
	tools []string     // of agents, beside the built-in ones
	n     atomic.Int64 // of deeds
	world *world
}

// ground is the venue that sequences have in common, each with users of its own.
type ground struct {
	dir       string // empty is in memory
	tools     []*tools.Operation
	model     *obedient
	venue     *venue.Venue
	sequences int
}

// enough says that no more sequences are drawn, where little time is given.
func (g *ground) enough() bool { return testing.Short() && g.sequences >= 8 }

// next returns an estate of new users. Now and then it takes a new venue, so that
// memory does not grow.
func (g *ground) next(t *rapid.T) *estate {
	ctx := context.Background()
	if g.venue == nil || g.dir == "" && g.sequences%100 == 0 {
		g.close(t)
		var err error
		g.model = new(obedient)
		if g.venue, err = venue.Open(ctx, &venue.Options{Dir: g.dir, Tools: g.tools, Models: map[string]runtime.Model{"default": g.model}}); err != nil {
			t.Fatal(err)
		}
	}
	g.sequences++
	e := &estate{ctx: ctx, fatal: t.Fatalf, model: g.model, users: map[string]*venue.User{}}
	e.world = &world{minds: map[string]mind{}, data: map[string]string{}, scripts: map[string]script{}, tokens: map[string]token{}}
	for _, name := range names {
		u, err := g.venue.User(ctx, fmt.Sprintf("%s-%d", name, g.sequences))
		if err != nil {
			t.Fatal(err)
		}
		e.users[name] = u
	}
	return e
}

func (g *ground) close(t interface{ Error(args ...any) }) {
	if g.venue != nil {
		if err := g.venue.Close(); err != nil {
			t.Error(err)
		}
	}
}

// spell writes a place as a user does.
func (e *estate) spell(user, place string, full bool) string {
	owner, rest, _ := strings.Cut(place, "/")
	if owner == user && (!full || rest == "") || owner == "" {
		return rest
	}
	return e.users[owner].DID().String() + "/" + rest
}

func (e *estate) grants(user string, list []grant) []map[string]string {
	out := make([]map[string]string, len(list))
	for i, g := range list {
		out[i] = map[string]string{"with": e.spell(user, g.at, false), "can": g.can}
	}
	return out
}

// document is a program as it is stored.
func (e *estate) document(s script) map[string]any {
	if s.kind == "pin" {
		return map[string]any{"operation": map[string]any{"adapter": "covia:write"}}
	}
	return map[string]any{"operation": map[string]any{"adapter": "orchestrator", "steps": []any{e.step(s)}}}
}

func (e *estate) step(s script) map[string]any {
	path := func(place string) any { return []any{"const", e.spell(ownerOf(s.at), place, false)} }
	switch s.kind {
	case "call":
		return map[string]any{"op": e.spell(ownerOf(s.at), s.at, false)}
	case "copy":
		return map[string]any{"op": "covia:copy", "input": map[string]any{"from": path(s.at), "to": path(s.to)}}
	case "read":
		return map[string]any{"op": "covia:read", "input": map[string]any{"path": path(s.at)}}
	case "keep":
		return map[string]any{"op": "test:keep"}
	}
	return map[string]any{"op": "covia:write", "input": map[string]any{"path": path(s.at), "value": []any{"const", s.value}}}
}

// call is the tool and the input that a deed is done by.
func (e *estate) call(d *deed) (tool string, input map[string]any) {
	user := d.by.user
	at := e.spell(user, d.at, d.spelled)
	config := map[string]any{"tools": []string{"covia:*", "agent:*", "grid:*", "ucan:*"}}
	if d.kind == "agent_create" && len(e.tools) > 0 {
		config["tools"] = append(config["tools"].([]string), e.tools...)
	}
	if d.listed {
		config["caps"] = e.grants(user, d.caps)
	}
	if d.own {
		config["authority"] = "own"
	}
	switch d.kind {
	case "covia_read", "covia_delete":
		return d.kind, map[string]any{"path": at}
	case "covia_write":
		return d.kind, map[string]any{"path": at, "value": d.value}
	case "script":
		return "covia_write", map[string]any{"path": at, "value": e.document(d.script)}
	case "part":
		return "covia_write", map[string]any{"path": at, "value": e.step(d.script)}
	case "covia_copy":
		return d.kind, map[string]any{"from": at, "to": e.spell(user, d.to, d.spelled)}
	case "run":
		in := map[string]any{}
		if d.to != "" {
			in = map[string]any{"path": e.spell(user, d.to, d.spelled), "value": d.value}
		}
		return "grid_run", map[string]any{"operation": at, "input": in}
	case "agent_create":
		return d.kind, map[string]any{"agentId": d.id, "config": config, "overwrite": d.overwrite}
	case "agent_fork":
		delete(config, "tools")
		return d.kind, map[string]any{"agentId": d.id, "sourceId": d.from, "config": config, "overwrite": d.overwrite}
	case "agent_update":
		return d.kind, map[string]any{"agentId": d.id, "config": map[string]any{"caps": config["caps"]}}
	case "remove":
		return "agent_delete", map[string]any{"agentId": d.id, "remove": true}
	case "adopt":
		return "agent_adopt", map[string]any{"path": at}
	case "ucan_delegate":
		return d.kind, map[string]any{"audience": e.users[d.audience].DID().String(), "capabilities": e.grants(user, []grant{d.gives})}
	case "ucan_issue":
		return d.kind, map[string]any{"audience": e.users[d.audience].DID().String(), "attenuations": e.grants(user, []grant{d.gives}), "exp": time.Now().Add(time.Hour).Unix()}
	case "ucan_revoke":
		return d.kind, map[string]any{"cid": d.cid}
	case "test_keep":
		return d.kind, map[string]any{}
	}
	return d.kind, map[string]any{"agentId": d.id}
}

func operation(tool string) string { return strings.Replace(tool, "_", ":", 1) }

// try has the deed done, and returns whether it was and what its actor learnt.
func (e *estate) try(d *deed) (done bool, told string) {
	tool, input := e.call(d)
	if d.wrapped {
		tool, input = "grid_run", map[string]any{"operation": operation(tool), "input": input}
	}
	id := fmt.Sprintf("%s%d", d.by.user, e.n.Add(1))
	user := e.users[d.by.user]
	if len(d.by.path) == 0 {
		out, err := user.Invoke(e.ctx, operation(tool), input)
		if err != nil {
			return false, err.Error()
		}
		return true, string(out)
	}
	what := order{id, tool, input}
	for i := len(d.by.path) - 1; i > 0; i-- {
		what = order{fmt.Sprintf("%s-%d", id, i), "agent_request", map[string]any{"agentId": d.by.path[i], "input": what}}
	}
	raw, err := json.Marshal(what)
	if err != nil {
		e.fatal("%v", err)
	}
	first, err := user.Agent(e.ctx, d.by.path[0])
	if err != nil {
		return false, err.Error()
	}
	for ev, err := range first.ChatIn(e.ctx, "", string(raw)) {
		if err != nil {
			return false, err.Error()
		}
		if end, ok := ev.(runtime.TurnEnd); ok {
			told = end.Text
		}
	}
	result, ok := e.model.results.LoadAndDelete(id)
	if !ok {
		return false, told
	}
	return !result.(runtime.Message).Failed, result.(runtime.Message).Text + "\n" + told
}

// drawing draws deeds.
type drawing struct {
	*rapid.T
	n int // of the deed
}

func (t drawing) of(from []string) string { return rapid.SampledFrom(from).Draw(t.T, "of") }
func (t drawing) one(in int) bool         { return rapid.IntRange(1, in).Draw(t.T, "one") == 1 }
func (t drawing) other(user string) string {
	return t.of(slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == user }))
}

func (t drawing) grant(user string) grant {
	from := powers
	if t.one(4) {
		from, user = abroad, t.other(user)
	}
	g := rapid.SampledFrom(from).Draw(t.T, "grant")
	return grant{user + g.at, g.can}
}

func (t drawing) grants(user string) (list []grant) {
	for range rapid.IntRange(0, 7).Draw(t.T, "grants") {
		list = append(list, t.grant(user))
	}
	return list
}

func (t drawing) anywhere(user string, from []string) string {
	if t.one(4) {
		user = t.other(user)
	}
	return user + t.of(from)
}

func (t drawing) script(at string, kinds ...string) script {
	user := ownerOf(at)
	s := script{kind: t.of(kinds), at: user + t.of(leaves), to: user + t.of(leaves), value: fmt.Sprintf("s-%d-", t.n)}
	if s.kind == "call" {
		s.at = user + t.of(slots)
	}
	return s
}

// deed draws a deed of somebody; nil where the world has nothing for it.
func (t drawing) deed(w *world) *deed {
	user := t.of(actors)
	d := &deed{by: actor{user: user}, kind: t.of(kinds), id: t.of(ids), from: t.of(ids), value: fmt.Sprintf("v-%d-", t.n), spelled: t.one(3)}
	if !t.one(3) {
		for range rapid.IntRange(1, 3).Draw(t.T, "depth") {
			d.by.path = append(d.by.path, t.of(ids))
		}
	}
	switch d.kind {
	case "covia_read", "covia_write", "covia_delete":
		d.at, d.wrapped = t.anywhere(user, leaves), t.one(3)
	case "covia_copy":
		d.at, d.to, d.wrapped = t.anywhere(user, leaves), t.anywhere(user, leaves), t.one(3)
	case "copy": // of a program
		d.kind, d.at, d.to = "covia_copy", t.anywhere(user, slots), t.anywhere(user, slots)
	case "script":
		d.at = t.anywhere(user, slots)
		d.script = t.script(d.at, "copy", "copy", "write", "read", "call", "pin")
	case "part":
		at := t.anywhere(user, slots)
		if kind := w.scripts[at].kind; kind == "" || kind == "pin" {
			return nil
		}
		d.at, d.script = at+"/operation/steps/0", t.script(at, "copy", "write", "read", "call")
	case "run":
		if d.at = user + t.of(slots); w.scripts[d.at].kind == "pin" {
			d.to = t.anywhere(user, leaves)
		}
	case "agent_create", "agent_fork":
		d.overwrite, d.own = t.one(2), t.one(5)
		if d.listed = !t.one(3); d.listed {
			d.caps = t.grants(user)
		}
	case "agent_update":
		d.listed, d.caps = true, t.grants(user)
	case "adopt":
		d.at = user + t.of(slots)
	case "ucan_delegate", "ucan_issue":
		g := rapid.SampledFrom(abroad).Draw(t.T, "gives")
		d.audience, d.gives = t.other(user), grant{user + g.at, g.can}
		if d.kind == "ucan_delegate" && t.one(3) { // what another has given
			d.gives.at = names[3-slices.Index(names, user)-slices.Index(names, d.audience)] + g.at
		}
	case "ucan_revoke":
		all := slices.Sorted(maps.Keys(w.tokens))
		if len(all) == 0 {
			return nil
		}
		d.cid, d.by.path = t.of(all), nil
	}
	return d
}

// begin draws what there is when a sequence begins: data, agents of two depths,
// tokens, and programs of users and of agents, some of them in the namespace of
// another.
func (t drawing) begin() (all []*deed) {
	for _, user := range names {
		in, other := actor{user: user}, t.other(user)
		for i, leaf := range leaves {
			all = append(all, &deed{by: in, kind: "covia_write", at: user + leaf, value: fmt.Sprintf("b-%d-%s-", i, user)})
		}
		for _, id := range ids[:2] {
			caps := t.grants(user)
			if t.one(2) {
				caps = append(caps, grant{user, "*"})
			}
			if t.one(2) {
				caps = append(caps, grant{other + "/w", "crud"}, grant{other + "/o", "crud"})
			}
			all = append(all, &deed{by: in, kind: "agent_create", id: id, listed: !t.one(8), caps: caps, own: t.one(3)})
		}
		all = append(all, &deed{by: actor{user, ids[:1]}, kind: "agent_create", id: ids[2], listed: t.one(2), caps: t.grants(user), own: t.one(5)})
		for _, at := range []string{user + t.of(slots), user + t.of(slots), other + t.of(slots)} {
			by := actor{user, [][]string{nil, ids[:1], ids[1:2]}[rapid.IntRange(0, 2).Draw(t.T, "by")]}
			all = append(all, &deed{by: by, kind: "script", at: at, script: t.script(at, "copy", "copy", "write", "read", "call", "pin")})
		}
		for range rapid.IntRange(0, 2).Draw(t.T, "tokens") {
			g := rapid.SampledFrom(abroad).Draw(t.T, "gives")
			all = append([]*deed{{by: in, kind: "ucan_delegate", audience: t.other(user), gives: grant{user + g.at, g.can}}}, all...)
		}
	}
	return all
}

func ofScript(at string) string { return strings.TrimSuffix(at, "/operation/steps/0") }

// check holds what came of a deed against what the oracle says, and what is
// there against what should be.
func (e *estate) check(d *deed) {
	w := e.world
	all := w.asks(d)
	done, told := e.try(d)
	switch {
	case done && slices.Contains(all, no):
		e.fatal("%+v was done, and the oracle forbids it: %v\n%s\n%s", *d, all, told, w)
	case !done && !slices.Contains(all, no) && !slices.Contains(all, maybe) && !w.lacks(d):
		e.fatal("%+v was not done, and the oracle allows it: %s\n%s", *d, told, w)
	}
	value := w.data[d.at]
	if d.kind == "run" {
		value = w.data[w.scripts[d.at].at]
	}
	reads := d.kind == "covia_read" || d.kind == "run" && w.scripts[d.at].kind == "read"
	if reads && value != "" && done != strings.Contains(told, value) {
		e.fatal("%+v, done: %t, tells %s of %s", *d, done, told, value)
	}
	if done {
		if strings.HasPrefix(d.kind, "ucan_") && d.cid == "" {
			var out struct {
				CID    string
				Tokens []struct{ CID string }
			}
			if err := json.NewDecoder(strings.NewReader(told[strings.Index(told, "{"):])).Decode(&out); err != nil {
				e.fatal("%s: %v", told, err)
			}
			if d.cid = out.CID; d.cid == "" {
				d.cid = out.Tokens[0].CID
			}
		}
		w.do(d)
	}
	for _, name := range names {
		if done && (name == d.by.user || name == ownerOf(d.at) || name == ownerOf(d.to)) {
			e.compare(d, name)
		}
	}
}

// compare holds the data of a user against the oracle's.
func (e *estate) compare(d *deed, name string) {
	want, got := map[string]any{}, map[string]any{}
	for at, value := range e.world.data {
		if ownerOf(at) == name {
			want[at] = value
		}
	}
	for at, s := range e.world.scripts {
		if ownerOf(at) == name {
			want[at] = plainJSON(e.document(s))
		}
	}
	for _, top := range []string{"w", "o"} {
		out, err := e.users[name].Invoke(e.ctx, "covia:read", map[string]string{"path": top})
		var in struct{ Value any }
		if err == nil {
			err = json.Unmarshal(out, &in)
		}
		if err != nil {
			e.fatal("%v", err)
		}
		flatten(got, name+"/"+top, in.Value)
	}
	if !reflect.DeepEqual(got, want) {
		e.fatal("after %+v there is\n%v\nwant\n%v\n%s", *d, got, want, e.world)
	}
}

func plainJSON(v any) (out any) {
	raw, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

// flatten lists values by their places; programs stay whole.
func flatten(to map[string]any, at string, v any) {
	m, ok := v.(map[string]any)
	if _, program := m["operation"]; ok && !program {
		for k, v := range m {
			flatten(to, at+"/"+k, v)
		}
		return
	}
	if v != nil {
		to[at] = v
	}
}

// String lists what there is, for whoever reads why a sequence failed.
func (w *world) String() string {
	var b strings.Builder
	for at, m := range w.minds {
		fmt.Fprintf(&b, "%s %+v\n", at, m)
	}
	for at, s := range w.scripts {
		fmt.Fprintf(&b, "%s %+v\n", at, s)
	}
	for _, t := range w.tokens {
		fmt.Fprintf(&b, "%+v\n", t)
	}
	return b.String()
}

// compareAgents holds what every agent may do against the oracle, need by need.
func (e *estate) compareAgents() {
	for at, m := range e.world.minds {
		user, id := ownerOf(at), at[strings.LastIndex(at, "/")+1:]
		a, err := e.users[user].Agent(e.ctx, id)
		if err != nil {
			e.fatal("%v", err)
		}
		info, err := a.Info(e.ctx)
		if err != nil {
			e.fatal("%v", err)
		}
		if info.Status != m.status {
			e.fatal("%s is %s, want %s\n%s", at, info.Status, m.status, e.world)
		}
		lists := e.world.inherited(life{user, id, m.n})
		for _, owner := range names {
			for _, place := range slices.Concat(places, leaves) {
				for _, can := range []string{"crud/read", "crud/write", "invoke", "agent/request", "ucan/delegate"} {
					want := !slices.ContainsFunc(lists, func(list []grant) bool {
						return !slices.ContainsFunc(list, func(g grant) bool { return g.covers(grant{owner + place, can}) })
					})
					if got := info.Caps.Check(caps.Need(can, e.spell(user, owner+place, false))).IsAllowed(); got != want {
						e.fatal("%s may %s on %s: %t, want %t\n%s", at, can, owner+place, got, want, e.world)
					}
				}
			}
		}
	}
}

// No sequence of deeds of several users and agents, at several depths, has an
// effect that the oracle forbids, and what the oracle allows happens. Ten thousand
// sequences: go test ./venue -run TestOracle -rapid.checks=10000
func TestOracle(t *testing.T) {
	t.Parallel()
	g := new(ground)
	defer func() { g.close(t) }()
	rapid.Check(t, func(t *rapid.T) {
		if g.enough() {
			return
		}
		e := g.next(t)
		for _, d := range (drawing{t, 0}).begin() {
			e.check(d)
		}
		for n := range rapid.IntRange(10, 40).Draw(t, "deeds") {
			if d := (drawing{t, n}).deed(e.world); d != nil {
				e.check(d)
			}
		}
		for _, name := range names {
			e.compare(new(deed), name)
		}
		e.compareAgents()
	})
}
