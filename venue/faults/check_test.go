//go:build linux

package faults

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"usher/runtime"
	"usher/venue"
	"usher/venue/runs"
)

// finding is what a checking child prints: how the folder differs from what was acknowledged.
type finding struct {
	Claims  int      // that were held against the folder
	Missing []string // what was acknowledged and is not so; a few of them
	Lost    int      // how many
	Told    []string // errors that it was told
}

func (f *finding) miss(format string, args ...any) {
	f.Lost++
	if f.Lost <= 3 {
		f.Missing = append(f.Missing, fmt.Sprintf(format, args...))
	}
}

func (f *finding) told(what string, err error) {
	if len(f.Told) < 2 {
		f.Told = append(f.Told, fmt.Sprintf("%s: %v", what, err))
	}
}

// The names in the environment of what a checking child looks at.
const (
	checkProject = "USHER_FAULTS_PROJECT"
	checkClaims  = "USHER_FAULTS_CLAIMS"
)

// checkChild prints a [finding]. Its exit status is 1 where the venue did not open.
func checkChild() int {
	claims, err := readClaimFile(os.Getenv(checkClaims))
	if err != nil {
		panic(err)
	}
	found, err := checked(context.Background(), os.Getenv(checkProject), claims)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_, _ = os.Stdout.Write(mustJSON(found))
	return 0
}

// checked holds the project against the claims.
func checked(ctx context.Context, project string, claims []claim) (finding, error) {
	v, err := venue.Open(ctx, &venue.Options{Dir: dataOf(project)})
	if err != nil {
		return finding{}, err
	}
	c := checker{v: v, finding: finding{Claims: len(claims)}}
	c.all(ctx, sorted(claims))
	if err := v.Close(); err != nil {
		c.told("close", err)
	}
	return c.finding, nil
}

// sums is what claims come to.
type sums struct {
	notes    map[string]claim // by path, those that must be there
	gone     []string         // paths
	counts   map[string]int
	turns    map[string][]int // by session
	granted  []claim
	revoked  []claim
	mayBeOff map[string]bool // notes that may be there or not
}

func sorted(claims []claim) *sums {
	s := &sums{notes: map[string]claim{}, counts: map[string]int{}, turns: map[string][]int{}, mayBeOff: map[string]bool{}}
	for _, c := range claims {
		switch c.Kind {
		case noted:
			s.notes[c.Path] = c
		case counted:
			s.counts[c.Path] = max(s.counts[c.Path], c.N)
		case toDelete:
			s.mayBeOff[c.Path] = true
		case deleted:
			s.gone = append(s.gone, c.Path)
		case turned:
			s.turns[c.Session] = append(s.turns[c.Session], c.N)
		case granted:
			s.granted = append(s.granted, c)
		case revoked:
			s.revoked = append(s.revoked, c)
		}
	}
	return s
}

type checker struct {
	v       *venue.Venue
	me, bob *venue.User
	finding
}

func (c *checker) all(ctx context.Context, s *sums) {
	var err error
	if c.me, err = c.v.User(ctx, "me"); err == nil {
		c.bob, err = c.v.User(ctx, "bob")
	}
	if err != nil {
		c.told("users", err)
		c.miss("the users")
		return
	}
	c.notes(ctx, s)
	c.sessions(ctx, s)
	c.ledger(ctx, s)
	c.tokens(ctx, s)
}

// notes compares what lies in the workspace.
func (c *checker) notes(ctx context.Context, s *sums) {
	folders := map[string]map[string]json.RawMessage{}
	value := func(at string) (raw json.RawMessage, ok bool) {
		dir := path.Dir(at)
		if folders[dir] == nil {
			folders[dir] = c.folder(ctx, dir)
		}
		raw, ok = folders[dir][path.Base(at)]
		return raw, ok
	}
	for at, n := range s.notes {
		raw, ok := value(at)
		var text string
		switch {
		case s.mayBeOff[at]:
		case !ok:
			c.miss("%s is not there", at)
		case json.Unmarshal(raw, &text) != nil || text != noteText(n.Seed, n.Size):
			c.miss("%s has another text", at)
		}
	}
	for _, at := range s.gone {
		if _, ok := value(at); ok {
			c.miss("%s was deleted and is there", at)
		}
	}
	for at, want := range s.counts {
		raw, _ := value(at)
		var n int
		if err := json.Unmarshal(raw, &n); err != nil || n < want {
			c.miss("%s is %s, and %d was acknowledged", at, raw, want)
		}
	}
}

// folder reads all notes of a folder. A read that fails may find that the store has to be mended, and
// is made once more.
func (c *checker) folder(ctx context.Context, dir string) map[string]json.RawMessage {
	var got struct {
		Value     map[string]json.RawMessage
		Truncated bool
	}
	read := func() error {
		out, err := c.me.Invoke(ctx, "covia:read", map[string]any{"path": dir, "maxSize": 16 << 20})
		if err == nil {
			err = json.Unmarshal(out, &got)
		}
		if err == nil && got.Truncated {
			err = errors.New("cut")
		}
		return err
	}
	if err := read(); err != nil {
		if err := read(); err != nil {
			c.told("read "+dir, err)
		}
	}
	if got.Value == nil {
		got.Value = map[string]json.RawMessage{}
	}
	return got.Value
}

// sessions compares the turns.
func (c *checker) sessions(ctx context.Context, s *sums) {
	if len(s.turns) == 0 {
		return
	}
	scribe, err := c.me.Agent(ctx, "scribe")
	if err != nil {
		c.told("agent", err)
		c.miss("the agent")
		return
	}
	list, err := scribe.Sessions(ctx)
	if err != nil {
		c.told("sessions", err)
	}
	for id, turns := range s.turns {
		if !slices.ContainsFunc(list, func(h runs.Head) bool { return h.ID == id }) {
			c.miss("session %s is not listed", id)
		}
		ended := map[int]bool{}
		var now turn
		for e, err := range scribe.History(ctx, id) {
			if err != nil {
				c.told("session "+id, err)
				break
			}
			switch ev := e.Event.(type) {
			case runtime.TurnStart:
				_ = json.Unmarshal([]byte(ev.Text), &now) // another text is no turn of these
			case runtime.TurnEnd:
				ended[now.N] = ended[now.N] || ev.Error == ""
			}
		}
		for _, n := range turns {
			if !ended[n] {
				c.miss("turn %d of session %s is not there", n, id)
			}
		}
	}
}

// ledger compares the rows: each acknowledged call has its decision and its outcome.
func (c *checker) ledger(ctx context.Context, s *sums) {
	written, done := map[string][]uint64{}, map[uint64]bool{}
	for row, err := range c.v.Audit(ctx, 1) {
		switch {
		case err != nil:
			c.told("ledger", err)
			c.miss("the ledger's rows from there on")
			return
		case row.Entry == nil:
			done[row.Of] = row.Outcome == "ok"
		case row.Operation == "v/ops/covia/write" && len(row.Needs) > 0:
			written[row.Needs[0].Resource] = append(written[row.Needs[0].Resource], row.Seq)
		}
	}
	for at := range s.notes {
		if !slices.ContainsFunc(written[at], func(seq uint64) bool { return done[seq] }) {
			c.miss("the ledger has no row of %s and its outcome", at)
		}
	}
}

// tokens looks at what bob may read. The latest are the likeliest to be lost, and the oldest the
// likeliest to be swept.
func (c *checker) tokens(ctx context.Context, s *sums) {
	const most = 24
	for _, g := range ends(s.granted, most) {
		if err := c.bobReads(ctx, g.Path); err != nil {
			c.miss("bob may not read %s, which was granted: %v", g.Path, err)
		}
	}
	for _, again := range []bool{false, true} {
		for _, r := range ends(s.revoked, most) {
			if again { // bob brings it in once more, which is refused or means nothing
				_, _ = c.bob.Invoke(ctx, "ucan:import", map[string]any{"tokens": []string{r.Token}})
			}
			if c.bobReads(ctx, r.Path) == nil {
				c.miss("bob reads %s by a revoked token", r.Path)
			}
		}
	}
}

func (c *checker) bobReads(ctx context.Context, at string) error {
	_, err := c.bob.Invoke(ctx, "covia:read", map[string]string{"path": c.me.DID().String() + "/" + at})
	return err
}

// ends is the beginning and the end of a list.
func ends(list []claim, most int) []claim {
	if len(list) <= most {
		return list
	}
	return slices.Concat(list[:most/2], list[len(list)-most/2:])
}

// check has a child hold the project against the claims.
func check(ctx context.Context, project, claims string) (ran, finding) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := self(ctx, "check")
	cmd.Env = append(cmd.Env, checkProject+"="+project, checkClaims+"="+claims)
	r := finish(ctx, "check", cmd)
	var f finding
	if err := json.Unmarshal([]byte(r.out), &f); err != nil && r.status == 0 && r.crash == "" {
		r.crash = "the check says " + brief(r.out)
	}
	return r, f
}

// under is a file's path within the data folder.
func under(data, file string) string {
	rel, err := filepath.Rel(data, file)
	return cmp.Or(map[bool]string{true: rel}[err == nil], strings.TrimPrefix(file, data))
}
