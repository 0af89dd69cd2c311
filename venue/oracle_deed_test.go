package venue_test

import "slices"

// deed is something that an actor tries. Which fields count depends on its kind.
type deed struct {
	by               actor
	kind             string // name of the tool, or a word of the oracle's own: see deedCall
	at, to           string // places
	value            string
	script           script
	id, from         string // agents
	caps             []grant
	listed           bool // caps are said; else they are the creator's
	overwrite, own   bool
	wrapped, spelled bool // through grid:run; with the namespace written out
	gives            grant
	audience, cid    string
}

// asks says what must hold, one thing after another, for the deed to be done.
// What stands in one answer must hold at one moment.
func (w *world) asks(d *deed) (all []answer) {
	user := d.by.user
	for i, id := range d.by.path {
		if i > 0 {
			all = append(all, w.may(w.who(actor{user, d.by.path[:i]}), grant{user + "/g/" + id, "agent/request"}))
		}
		all = append(all, sure(w.minds[user+"/g/"+id].status == asleep))
	}
	b, person := w.who(d.by), len(d.by.path) == 0
	if d.wrapped || d.kind == "run" {
		all = append(all, w.somewhere(b, "invoke"))
	}
	mind := w.minds[user+"/g/"+d.id]
	on := func(can, id string) answer { return w.may(b, grant{user + "/g/" + id, can}) }
	handsOn := yes
	for _, c := range d.caps {
		handsOn = min(handsOn, sure(!d.listed || w.hold(b.lives, c)))
	}
	takesPlace := yes // of the agent that is there
	if mind.n > 0 && d.overwrite {
		takesPlace = w.gives(b, mind.caps)
	}
	switch d.kind {
	case "covia_read":
		all = append(all, w.may(b, grant{d.at, "crud/read"}))
	case "covia_write", "script":
		all = append(all, w.may(b, grant{d.at, "crud/write"}))
	case "part":
		all = append(all, w.may(b, grant{d.at, "crud/write"}))
		if ownerOf(d.at) != user || w.may(b, grant{ofScript(d.at), "crud/read"}) != yes {
			all = append(all, maybe) // who may not see what is there may not write into it, if that would tell
		}
	case "covia_delete":
		all = append(all, w.may(b, grant{d.at, "crud/delete"}))
	case "covia_copy":
		all = append(all, min(w.may(b, grant{d.at, "crud/read"}), w.may(b, grant{d.to, "crud/write"})))
	case "run":
		all = append(all, w.runs(b, d.at, d.to, 0)...)
	case "agent_create":
		all = append(all, min(on("agent/create", d.id), handsOn), takesPlace)
	case "agent_fork":
		source := w.minds[user+"/g/"+d.from]
		all = append(all, sure(source.n > 0 && d.id != d.from), min(on("agent/fork", d.from), on("agent/fork", d.id), handsOn), takesPlace)
		if !d.listed {
			all = append(all, w.gives(b, w.inherited(life{user, d.from, source.n})))
		}
	case "agent_update":
		all = append(all, min(on("agent/update", d.id), handsOn), sure(mind.n > 0 && mind.status != ended))
	case "agent_suspend", "agent_resume":
		all = append(all, on("agent/manage", d.id), sure(mind.n > 0 && mind.status != ended))
	case "agent_delete", "remove":
		all = append(all, on("agent/delete", d.id), sure(mind.n > 0 && (d.kind != "remove" || !w.gave(user, d.id))))
	case "agent_adopt":
		all = append(all, sure(person && mind.n > 0))
	case "adopt":
		_, there := w.scripts[d.at]
		all = append(all, sure(person && there))
	case "ucan_delegate", "ucan_issue":
		all = append(all, min(w.somewhere(b, "ucan/delegate"), sure(w.hold(b.lives, d.gives))))
		if ownerOf(d.gives.at) != user {
			all = append(all, w.chain(user, d.gives, nil))
		}
	case "test_keep":
		all = append(all, w.somewhere(b, "invoke"))
	case "ucan_revoke":
		t := w.tokens[d.cid]
		all = append(all, sure(t.from == user || ownerOf(t.gives.at) == user))
	}
	return all
}

// inherited are the lists that bound an agent while it is awake.
func (w *world) inherited(of life) [][]grant {
	m, seen := w.minds[of.user+"/g/"+of.id], map[life]bool{of: true}
	all := slices.Clone(m.caps)
	for _, g := range m.givers {
		all = append(all, w.lists(g, seen)...)
	}
	return all
}

// gave reports whether others have their capabilities from the agent.
func (w *world) gave(user, id string) bool {
	for place, m := range w.minds {
		if ownerOf(place) == user && slices.ContainsFunc(m.givers, func(g life) bool { return g.user == user && g.id == id }) {
			return true
		}
	}
	return false
}

// do changes the world as the deed does that was done.
func (w *world) do(d *deed) {
	user, b := d.by.user, w.who(d.by)
	me := user + "/g/" + d.id
	m, there := w.minds[me]
	switch d.kind {
	case "covia_write":
		w.data[d.at] = d.value
	case "covia_delete":
		delete(w.data, d.at)
		delete(w.scripts, d.at)
	case "script":
		s := d.script
		s.authors, s.users = b.lives, []string{user}
		w.scripts[d.at] = s
	case "part":
		old, s := w.scripts[ofScript(d.at)], d.script
		s.authors, s.users = slices.Concat(old.authors, b.lives), append(slices.Clone(old.users), user)
		w.scripts[ofScript(d.at)] = s
	case "covia_copy":
		if s, ok := w.scripts[d.at]; ok {
			s.authors, s.users = slices.Concat(s.authors, b.lives), append(slices.Clone(s.users), user)
			w.scripts[d.to] = s
		} else {
			w.data[d.to] = w.data[d.at]
		}
	case "run":
		w.effect(b, d.at, d)
	case "agent_create", "agent_fork":
		if there && !d.overwrite {
			return
		}
		next := mind{n: m.n, status: m.status, caps: [][]grant{d.caps}, own: d.own}
		if !d.listed {
			next.caps = w.listsOf(b.lives)
		}
		if d.kind == "agent_fork" {
			source := w.minds[user+"/g/"+d.from]
			next.own = d.own || source.own
			if !d.listed {
				next.caps = w.inherited(life{user, d.from, source.n})
			}
		}
		if !there || m.status == ended {
			w.lives++
			next.n, next.status = w.lives, asleep
		}
		if len(d.by.path) > 0 {
			next.givers = m.givers
		}
		next.givers = givers(next.givers, b, d.id)
		w.minds[me] = next
	case "agent_update":
		m.caps, m.givers = [][]grant{d.caps}, givers(m.givers, b, d.id)
		w.minds[me] = m
	case "agent_suspend":
		m.status = suspended
		w.minds[me] = m
	case "agent_resume":
		m.status = asleep
		w.minds[me] = m
	case "agent_delete":
		m.status = ended
		w.minds[me] = m
	case "remove":
		delete(w.minds, me)
	case "agent_adopt":
		m.givers = nil
		w.minds[me] = m
	case "adopt":
		if s, ok := w.scripts[d.at]; ok {
			s.authors, s.users = nil, nil
			w.scripts[d.at] = s
		}
	case "ucan_delegate", "ucan_issue":
		w.tokens[d.cid] = token{from: user, to: d.audience, gives: d.gives, signers: b.lives}
	case "ucan_revoke":
		t := w.tokens[d.cid]
		t.revoked = true
		w.tokens[d.cid] = t
	}
}

// givers are those before and those that bound b, but the agent itself.
func givers(before []life, b who, id string) []life {
	before = slices.Clone(before)
	for _, l := range b.lives {
		if l.id != id && !slices.Contains(before, l) {
			before = append(before, l)
		}
	}
	return before
}

// effect is what running the program at a place does to the data.
func (w *world) effect(b who, at string, d *deed) {
	switch s := w.scripts[at]; s.kind {
	case "call":
		w.effect(b, s.at, d)
	case "copy":
		w.data[s.to] = w.data[s.at]
	case "write":
		w.data[s.at] = s.value
	case "pin":
		w.data[d.to] = d.value
	}
}

// lacks reports whether the deed fails for want of something to copy.
func (w *world) lacks(d *deed) bool {
	at := d.at
	if d.kind == "covia_copy" {
		_, data := w.data[at]
		_, program := w.scripts[at]
		return !data && !program
	}
	for range 12 {
		switch s := w.scripts[at]; {
		case d.kind == "run" && s.kind == "copy":
			_, data := w.data[s.at]
			return !data
		case d.kind == "run" && s.kind == "call":
			at = s.at
		}
	}
	return false
}
