package venue_test

import (
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// history is the worlds that the changes of authority of one phase lead to, one
// after another, and how many of the changes have ended.
type history struct {
	mu     sync.Mutex
	worlds []*world // the last ones may not be there yet
	ended  int
}

// witness is a deed with the worlds in which it may have happened.
type witness struct {
	*deed
	from, to int
	done     bool
	told     string
}

// watch has the deed done while the history goes on.
func (h *history) watch(e *estate, d *deed) witness {
	h.mu.Lock()
	from := h.ended
	h.mu.Unlock()
	done, told := e.try(d)
	h.mu.Lock()
	defer h.mu.Unlock()
	return witness{d, from, len(h.worlds) - 1, done, told}
}

// change makes one change of authority, in person, which always stands.
func (h *history) change(e *estate, d *deed) witness {
	h.mu.Lock()
	next := h.worlds[len(h.worlds)-1].clone()
	next.do(d)
	h.worlds = append(h.worlds, next)
	h.mu.Unlock()
	done, told := e.try(d)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended++
	return witness{d, h.ended - 1, h.ended - 1, done, told}
}

// judge holds a deed against the worlds in which it may have happened: each thing
// that it needs was there in one of them, if it was done, and was missing in one
// of them, if it was not.
func (h *history) judge(e *estate, x witness) {
	could, must := []answer(nil), yes
	for i, w := range h.worlds[x.from : x.to+1] {
		all := w.asks(x.deed)
		if i == 0 {
			could = slices.Clone(all)
		}
		for k, a := range all {
			if k == len(could) {
				could = append(could, a) // a program that runs deeper
			}
			could[k] = max(could[k], a)
		}
		must = min(must, slices.Min(all))
		if w.lacks(x.deed) {
			must = min(must, maybe)
		}
	}
	switch {
	case x.done && slices.Contains(could, no):
		e.fatal("%+v was done in one of the worlds %d to %d, and the oracle forbids it in all: %v\n%s\n%s", *x.deed, x.from, x.to, could, x.told, h.worlds[x.from])
	case !x.done && must == yes:
		e.fatal("%+v was not done in one of the worlds %d to %d, and the oracle allows it in all: %s\n%s", *x.deed, x.from, x.to, x.told, h.worlds[x.from])
	}
}

// upheaval draws changes of authority that stand by themselves, whatever others
// do: in person, of agents that live, with lives and manners that stay.
func (t drawing) upheaval(w *world) (all []*deed) {
	w = w.clone()
	for range 8 {
		user := t.of(actors)
		d := &deed{by: actor{user: user}, id: t.of(ids), kind: t.of([]string{"agent_update", "agent_update", "agent_suspend", "agent_resume", "agent_resume", "agent_delete", "agent_create", "ucan_revoke"})}
		m := w.minds[user+"/g/"+d.id]
		switch d.kind {
		case "agent_update", "agent_create":
			d.overwrite, d.own, d.listed, d.caps = true, m.own, true, t.grants(user)
		case "ucan_revoke":
			for cid, token := range w.tokens {
				if token.from == user && !token.revoked {
					d.cid = cid
				}
			}
		}
		if m.status == asleep || m.status == suspended || d.cid != "" {
			if slices.Min(w.asks(d)) == yes {
				w.do(d)
				all = append(all, d)
			}
		}
	}
	return all
}

// work draws what one worker tries meanwhile. It makes an agent of its own, which
// nobody else changes.
func (t drawing) work(w *world, kid string) (all []*deed) {
	user := t.of(actors)
	made := &deed{by: actor{user: user, path: []string{t.of(ids)}}, kind: "agent_create", id: kid, listed: true, caps: t.grants(user)}
	all = append(all, made)
	for range 6 {
		d := t.deed(w)
		if d == nil || !slices.Contains([]string{"covia_read", "covia_write", "covia_copy", "run"}, d.kind) || d.at != "" && w.scripts[d.at].kind != "" && d.kind != "run" {
			continue
		}
		if d.by.user == user && t.one(2) {
			d.by.path = append(d.by.path, kid)
		}
		all = append(all, d)
	}
	return all
}

// What several users and agents do at the same time as authority changes is
// allowed at some moment while it is done; what is allowed all the while happens.
func TestOracleInParallel(t *testing.T) {
	t.Parallel()
	g := new(ground)
	defer func() { g.close(t) }()
	rapid.Check(t, func(t *rapid.T) {
		if g.enough() {
			return
		}
		e := g.next(t)
		draw := drawing{t, 0}
		for _, d := range draw.begin() {
			e.check(d)
		}
		changes := draw.upheaval(e.world)
		var works [3][]*deed
		for i := range works {
			works[i] = drawing{t, 100 * (i + 1)}.work(e.world, []string{"k1", "k2", "k3"}[i])
		}
		h := &history{worlds: []*world{e.world}}
		var all sync.WaitGroup
		var changed []witness
		all.Go(func() {
			for _, d := range changes {
				changed = append(changed, h.change(e, d))
			}
		})
		var seen [len(works)][]witness
		for i, work := range works {
			all.Go(func() {
				for _, d := range work {
					seen[i] = append(seen[i], h.watch(e, d))
				}
			})
		}
		all.Wait()
		for _, x := range changed {
			h.judge(e, x)
		}
		for _, list := range seen {
			for _, x := range list {
				if h.judge(e, x); x.done && x.kind == "agent_create" {
					for _, w := range h.worlds {
						w.do(x.deed)
					}
				}
			}
		}
		e.world = h.worlds[len(h.worlds)-1]
		e.compareAgents()
	})
}
