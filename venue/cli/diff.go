package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"usher/caps"
	"usher/tools/agents"
	"usher/venue"
	"usher/venue/config"
	"usher/venue/store/journal"
)

type diffCmd struct {
	onVenue
	Files []string `arg:"" optional:"" name:"[old] new" help:"The configuration as it would be (default: that of -c), compared with what the agents may do now; with two, the second is compared with the first."`
}

func (*diffCmd) ofVenue() *fromConfig { return nil } // it reads the folder, beside whoever keeps it

func (*diffCmd) Help() string {
	return "What an agent may do is what stands at its caps and at those of all above it. The status is 0 where nobody may do more or less, 1 where somebody may, and 2 where a configuration cannot be read or applied."
}

// shift is what a change makes of an agent.
type shift struct {
	Agent   string            `json:"agent"`
	How     string            `json:"how"`
	Added   []caps.Capability `json:"added,omitempty"` // as they are written, of the effective capabilities
	Removed []caps.Capability `json:"removed,omitempty"`
	Allowed []witness         `json:"allowed,omitempty"` // calls that then go farther
	Denied  []witness         `json:"denied,omitempty"`  // calls that then go less far
}

// How an agent's authority changes.
const (
	isNew     = "new"
	isGone    = "gone"
	wider     = "widened"
	narrower  = "narrowed"
	different = "widened and narrowed"
)

func (c *diffCmd) Run(ctx context.Context, s *streams) error {
	if len(c.Files) > 2 {
		return misusef("diff compares two configurations at most: usher diff OLD NEW")
	}
	next := c.Config
	if n := len(c.Files); n > 0 {
		next = c.Files[n-1]
	}
	after, err := s.sound(ctx, next)
	if err != nil {
		return err
	}
	var was, is house
	if len(c.Files) == 2 {
		before, err := s.sound(ctx, c.Files[0])
		if err != nil {
			return err
		}
		was, is = houseOf(before), houseOf(after)
	} else if was, is, err = c.houses(ctx, s, after); err != nil {
		return err
	}
	return s.printShifts(shifts(was, is), c.JSON)
}

// sound reads a configuration that can be applied.
func (s *streams) sound(ctx context.Context, file string) (*config.Config, error) {
	from := fromConfig{Config: file}
	conf, err := from.load(s)
	if err != nil {
		return nil, err
	}
	findings, err := s.lint(ctx, conf)
	if err != nil {
		return nil, err
	}
	for i := range findings {
		if f := &findings[i]; f.Level == config.LevelError {
			return nil, misusef("%s", f)
		}
	}
	return conf, nil
}

// house is what the agents of a venue hold, by id.
type house struct {
	owner  string // a DID
	agents map[string]resident
}

// resident is one of them. Bare resources of what it holds lie in its namespace.
type resident struct {
	in      string // whose namespace its own is, a DID
	own     caps.Set
	above   []string  // who bound it
	settled *caps.Set // its effective capabilities, where they are known; nil follows from the rest
	gives   bool      // it gives what it holds to those below
}

// houseOf are the agents of a configuration, with somebody as their owner.
func houseOf(c *config.Config) house {
	h := house{somebody, make(map[string]resident, len(c.Agents))}
	for i := range c.Agents {
		h.write(&c.Agents[i])
	}
	return h
}

// write puts an agent there as the configuration has it.
func (h house) write(spec *agents.Spec) {
	own, ok := spec.Caps.Set()
	if !ok {
		own = caps.Unrestricted()
	}
	r := resident{in: h.owner, own: own, gives: true}
	if spec.Identity == agents.IdentityOwn {
		r.in = "did:usher:" + spec.ID // nobody knows yet which it will be
		if known := h.agents[spec.ID]; known.in != "" && known.in != h.owner {
			r.in = known.in
		}
	}
	if spec.Parent != "" {
		r.above = []string{spec.Parent}
	}
	h.agents[spec.ID] = r
}

// holds is what an agent may do: what itself and all above it hold. One that is not
// there gives nothing.
func (h house) holds(id string) caps.Set {
	set, seen, in := caps.Unrestricted(), make(map[string]bool), h.agents[id].in
	var meet func(id string, gives bool)
	meet = func(id string, gives bool) {
		r, there := h.agents[id]
		switch {
		case seen[id]:
			return
		case !there, !gives:
			set = caps.Set{}
			return
		case r.settled != nil:
			set = set.Intersect(r.settled.AsSeenBy(in, r.in))
			return
		}
		seen[id] = true
		set = set.Intersect(r.own.AsSeenBy(in, r.in))
		for _, above := range r.above {
			meet(above, h.agents[above].gives)
		}
	}
	meet(id, true)
	return set
}

// houses is what the agents hold now, and what they would hold once the configuration
// was applied, read without writing anything.
func (c *diffCmd) houses(ctx context.Context, s *streams, after *config.Config) (was, is house, err error) {
	was = house{owner: somebody}
	if _, err := c.load(s); err != nil {
		return was, is, err
	}
	if _, err := os.Stat(c.dir); c.dir == "" || errors.Is(err, fs.ErrNotExist) {
		return was, houseOf(after), nil
	}
	c.ReadOnly = true
	err = c.withVenue(ctx, s, func(v *venue.Venue, u *venue.User) error {
		infos, err := everyAgent(ctx, u)
		if err != nil {
			return err
		}
		pending, err := v.Preview(ctx, after, u)
		if err != nil {
			return err
		}
		owner := u.DID().String()
		was, is = residents(infos, owner), residents(infos, owner)
		for i := range after.Agents {
			if spec := &after.Agents[i]; slices.Contains(pending.Written, spec.ID) {
				old, there := is.agents[spec.ID]
				is.write(spec)
				if r := is.agents[spec.ID]; there && !old.gives { // who is suspended stays so
					r.gives = false
					is.agents[spec.ID] = r
				}
			}
		}
		is.unsettle(pending.Written)
		for _, id := range pending.Left {
			if _, there := is.agents[id]; there {
				s.note("agent " + id + " leaves the configuration, and stays as it is until it is ended")
			}
		}
		return nil
	})
	if errors.Is(err, journal.ErrReadOnly) { // its user is not there yet
		return was, houseOf(after), nil
	}
	return was, is, err
}

func residents(infos []agents.Info, owner string) house {
	h := house{owner, make(map[string]resident, len(infos))}
	for i := range infos {
		info := &infos[i]
		own, ok := info.Config.Caps.Set()
		if !ok {
			own = caps.Unrestricted()
		}
		h.agents[info.AgentID] = resident{in: info.DID, own: own, above: info.Creators, settled: &info.Caps, gives: info.Status != agents.Suspended}
	}
	return h
}

// unsettle has what agents hold worked out anew where somebody above them changes.
func (h house) unsettle(changed []string) {
	touched := make(map[string]bool)
	for _, id := range changed {
		touched[id] = true
	}
	for again := true; again; {
		again = false
		for id, r := range h.agents {
			if !touched[id] && slices.ContainsFunc(r.above, func(above string) bool { return touched[above] }) {
				r.settled = nil
				h.agents[id], touched[id], again = r, true, true
			}
		}
	}
}

// shifts compares two houses, by the ids of agents.
func shifts(was, is house) []shift {
	ids := slices.Concat(slices.Collect(maps.Keys(was.agents)), slices.Collect(maps.Keys(is.agents)))
	slices.Sort(ids)
	list := []shift{}
	for _, id := range slices.Compact(ids) {
		before, after := was.holds(id), is.holds(id)
		sh := shift{Agent: id}
		_, wasThere := was.agents[id]
		_, isThere := is.agents[id]
		more, less := !before.Covers(after), !after.Covers(before)
		switch {
		case !more && !less:
			continue
		case !wasThere:
			sh.How = isNew
		case !isThere:
			sh.How = isGone
		case more && less:
			sh.How = different
		case more:
			sh.How = wider
		default:
			sh.How = narrower
		}
		sh.Added, sh.Removed = unlike(before, after), unlike(after, before)
		sh.Allowed, sh.Denied = witnesses(before, after, after), witnesses(after, before, after)
		list = append(list, sh)
	}
	return list
}

// unlike are the capabilities of b that a does not say.
func unlike(a, b caps.Set) (list []caps.Capability) {
	for c := range capsIn(b) {
		if !slices.ContainsFunc(slices.Collect(capsIn(a)), c.Equal) {
			list = append(list, c)
		}
	}
	return list
}

// How a witness is told, by the decision after the change.
var (
	may    = map[string]string{verdictAllow: "it may then", verdictAsk: "it may then, once a person allows it", onTerms: "it may then, on terms"}
	mayNot = map[string]string{verdictDeny: "it may not any more", verdictAsk: "it may not any more, unless a person allows it", onTerms: "it may not any more, but on terms"}
)

func (s *streams) printShifts(list []shift, asJSON bool) error {
	var b strings.Builder
	for i := range list {
		sh := &list[i]
		fmt.Fprintf(&b, "agent %s: %s\n", sh.Agent, sh.How)
		for _, c := range sh.Added {
			b.WriteString("  " + s.paint.good(s.paint.safe("+ "+c.String())) + "\n")
		}
		for _, c := range sh.Removed {
			b.WriteString("  " + s.paint.bad(s.paint.safe("- "+c.String())) + "\n")
		}
		for _, w := range sh.Allowed {
			fmt.Fprintf(&b, "  %s: %s\n", may[w.Decision], w)
		}
		for _, w := range sh.Denied {
			fmt.Fprintf(&b, "  %s: %s\n", mayNot[w.Decision], w)
		}
	}
	if len(list) == 0 {
		b.WriteString("nobody may do more or less\n")
	}
	if err := s.answer(asJSON, list, b.String()); err != nil || len(list) == 0 {
		return err
	}
	return errQuiet
}
