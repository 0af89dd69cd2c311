package venue_test

import (
	"maps"
	"slices"
	"strings"
)

// The oracle says who may reach what, in few lines and without any of the code
// that it judges (DESIGN, 3): an actor may what its capabilities, its creators',
// those of all on whose behalf it acts, of the authors of the program that runs
// and the tokens between users all give, each of them alive.

// grant is a capability, or a need. Its place begins with the name of the user in
// whose namespace it lies, so that a place has one name for everybody.
type grant struct{ at, can string }

func (g grant) covers(need grant) bool {
	return below(g.at, need.at) && (g.can == "*" || below(g.can, need.can))
}

func below(have, want string) bool { return have == want || strings.HasPrefix(want, have+"/") }

func ownerOf(place string) string {
	owner, _, _ := strings.Cut(place, "/")
	return owner
}

// life is one life of an agent. An id can be taken again, a life cannot.
type life struct {
	user, id string
	n        int
}

type mind struct {
	n      int // of the life
	status string
	caps   [][]grant // every list must cover a need; none is unrestricted
	givers []life
	own    bool // it acts on its own, whoever asks
}

const (
	asleep    = "SLEEPING"
	suspended = "SUSPENDED"
	ended     = "TERMINATED"
)

// script is a stored program: one step, or a name for covia:write.
type script struct {
	kind          string // copy, write, read, call or pin
	at, to, value string
	authors       []life
	users         []string // on whose behalf it was written
}

type token struct {
	from, to string
	gives    grant
	signers  []life
	revoked  bool
}

// world is what there is. Places in its maps begin with a user's name.
type world struct {
	minds   map[string]mind // by place, "alice/g/a1"
	lives   int             // that ever were
	data    map[string]string
	scripts map[string]script
	tokens  map[string]token // by CID
}

// clone returns a world that can change by itself. Values in the maps are replaced, never changed.
func (w *world) clone() *world {
	return &world{maps.Clone(w.minds), w.lives, maps.Clone(w.data), maps.Clone(w.scripts), maps.Clone(w.tokens)}
}

// answer is what the oracle says. It says maybe where the design leaves it open.
type answer int

const (
	no answer = iota
	maybe
	yes
)

func sure(b bool) answer {
	if b {
		return yes
	}
	return no
}

// who is on whose authority something is done: a user's, within what all of the
// lives may do.
type who struct {
	user   string
	lives  []life
	barred bool // by a program that another user wrote
}

// actor is who acts: the user in person, or the last agent of those that ask one
// another, the first one asked by the user.
type actor struct {
	user string
	path []string
}

func (w *world) who(a actor) who {
	out := who{user: a.user}
	for _, id := range slices.Backward(a.path) {
		m := w.minds[a.user+"/g/"+id]
		if out.lives = append(out.lives, life{a.user, id, m.n}); m.own {
			break
		}
	}
	return out
}

// written is the authority of a program that b runs.
func (b who) written(s script) who {
	b.lives = slices.Concat(b.lives, s.authors)
	b.barred = b.barred || slices.ContainsFunc(s.users, func(u string) bool { return u != b.user })
	return b
}

// lists are all lists that bound a life now: its own and its givers'. An empty
// list lets nothing through.
func (w *world) lists(of life, seen map[life]bool) [][]grant {
	if seen[of] {
		return nil
	}
	seen[of] = true
	m := w.minds[of.user+"/g/"+of.id]
	if m.n != of.n || m.status != asleep {
		return [][]grant{{}}
	}
	all := slices.Clone(m.caps)
	for _, g := range m.givers {
		all = append(all, w.lists(g, seen)...)
	}
	return all
}

func (w *world) listsOf(lives []life) (all [][]grant) {
	for _, l := range lives {
		all = append(all, w.lists(l, map[life]bool{})...)
	}
	return all
}

func (w *world) hold(lives []life, need grant) bool {
	for _, list := range w.listsOf(lives) {
		if !slices.ContainsFunc(list, func(g grant) bool { return g.covers(need) }) {
			return false
		}
	}
	return true
}

// may says whether b may do what it needs at a place.
func (w *world) may(b who, need grant) answer {
	switch {
	case b.barred || !w.hold(b.lives, need):
		return no
	case ownerOf(need.at) == b.user:
		return yes
	}
	return w.chain(b.user, need, nil)
}

// chain says whether tokens give a user what it needs in another's namespace.
func (w *world) chain(to string, need grant, seen []string) (best answer) {
	if slices.Contains(seen, to) {
		return no
	}
	for _, t := range w.tokens {
		if t.to != to || t.revoked || !t.gives.covers(need) || !w.hold(t.signers, need) {
			continue
		}
		this := yes
		if !w.hold(t.signers, t.gives) {
			this = maybe // narrowed below the token, not below the need
		}
		if t.from != ownerOf(need.at) {
			// It rests on what its issuer has: for all that it gives, or for the need.
			rests := w.chain(t.from, t.gives, append(seen, to))
			if rests == no {
				rests = min(maybe, w.chain(t.from, need, append(seen, to)))
			}
			this = min(this, rests)
		}
		best = max(best, this)
	}
	return best
}

// somewhere says whether b has an ability that needs no place.
func (w *world) somewhere(b who, can string) answer {
	for _, place := range places {
		if !b.barred && w.hold(b.lives, grant{b.user + place, can}) {
			return yes
		}
	}
	return no
}

// gives says whether b may hand on all that lists let through.
func (w *world) gives(b who, lists [][]grant) answer {
	mine := w.listsOf(b.lives)
	for _, list := range lists {
		if !slices.ContainsFunc(list, func(g grant) bool { return !w.hold(b.lives, g) }) {
			return yes
		}
	}
	if len(lists) > 1 {
		return maybe // what they have in common may be less than each
	}
	return sure(len(mine) == 0)
}

// runs says what must hold, one thing after another, for b to run the program at
// a place. target is what a name for covia:write is given to write.
func (w *world) runs(b who, at, target string, depth int) []answer {
	s, there := w.scripts[at]
	invoke := w.may(b, grant{at, "invoke"})
	if !there || depth > 12 {
		return []answer{no}
	}
	inside := b.written(s)
	switch s.kind {
	case "call":
		return append([]answer{invoke}, w.runs(inside, s.at, "", depth+1)...)
	case "copy":
		return []answer{invoke, min(w.may(inside, grant{s.at, "crud/read"}), w.may(inside, grant{s.to, "crud/write"}))}
	case "read":
		return []answer{invoke, w.may(inside, grant{s.at, "crud/read"})}
	case "keep":
		return []answer{invoke, w.somewhere(inside, "invoke")}
	case "write":
		return []answer{invoke, w.may(inside, grant{s.at, "crud/write"})}
	case "pin":
		// It is the operation itself: whoever may read the name finds it, too.
		return []answer{max(invoke, w.may(b, grant{at, "crud/read"})), min(sure(target != ""), w.may(inside, grant{target, "crud/write"}))}
	}
	return []answer{no}
}
