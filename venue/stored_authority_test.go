package venue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"usher/caps"
	"usher/tools"
	"usher/ucan"
	"usher/venue"
)

const storedDir = "USHER_TEST_STORED_DIR" // of a venue, for the child of TestStoredAuthority

// kept is an authority that an agent, or a program, once had in its hands.
type kept struct {
	authority tools.Authority

	Sealed json.RawMessage
	Users  []ucan.DID // whose places are asked about
	May    []bool     // what it allowed at the end, in memory
}

// questions are what a kept authority is asked about.
func (k *kept) questions() (all []tools.Invocation) {
	for _, u := range k.Users {
		for _, leaf := range leaves {
			for _, op := range []string{"covia:read", "covia:delete"} {
				input, _ := json.Marshal(map[string]string{"path": u.String() + leaf}) // cannot fail
				all = append(all, tools.Invocation{Operation: op, Input: input})
			}
		}
	}
	return all
}

func (k *kept) ask(v *venue.Venue, auth tools.Authority) (may []bool, err error) {
	for _, q := range k.questions() {
		r, err := v.Decide(context.Background(), auth, q)
		if err != nil {
			return nil, err
		}
		may = append(may, r.Verdict() == tools.Allowed)
	}
	return may, nil
}

// What an authority allows that was written to disk and is opened by another
// process is what it would allow if it had never left memory: its agents, their
// creators, those that they act for and the authors of the program count as they
// are when it is used.
func TestStoredAuthority(t *testing.T) {
	if dir := os.Getenv(storedDir); dir != "" {
		useStored(t, dir)
		return
	}
	var all, now []*kept
	keep := tools.New("test:keep", "Keep the caller's authority.",
		func(struct{}) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} },
		func(_ context.Context, call tools.Call, _ struct{}) (struct{}, error) {
			now = append(now, &kept{authority: call.Authority()})
			return struct{}{}, nil
		}, tools.Within(caps.ScopeAbility("invoke")))
	g := &ground{dir: filepath.Join(t.TempDir(), "data"), tools: []*tools.Operation{keep}}
	lost := 0
	rapid.Check(t, func(t *rapid.T) {
		if g.sequences >= rounds(30, 5) {
			return // each waits for the disk again and again
		}
		e := g.next(t)
		e.tools, now = []string{"test:keep"}, nil
		draw := drawing{t, 0}
		for _, d := range draw.keeping(e.world) {
			e.check(d)
		}
		var users []ucan.DID
		for _, u := range e.users {
			users = append(users, u.DID())
		}
		var before [][]bool
		for _, k := range now {
			k.Users = users
			may, err := k.ask(g.venue, k.authority)
			if err != nil {
				t.Fatal(err)
			}
			before = append(before, may)
			if k.Sealed, err = json.Marshal(k.authority); err != nil {
				t.Fatal(err)
			}
		}
		for _, d := range draw.upheaval(e.world) {
			e.check(d)
		}
		for i, k := range now {
			var err error
			if k.May, err = k.ask(g.venue, k.authority); err != nil {
				t.Fatal(err)
			}
			for j, may := range before[i] {
				if may && !k.May[j] {
					lost++
				}
			}
		}
		all = append(all, now...)
	})
	g.close(t)
	if len(all) == 0 || lost == 0 {
		t.Fatalf("%d authorities, %d of whose powers were lost: the test sees nothing", len(all), lost)
	}
	raw, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(g.dir), "kept.json"), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestStoredAuthority$")
	child.Env = append(os.Environ(), storedDir+"="+g.dir)
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("another process finds otherwise: %v\n%s", err, out)
	}
}

// useStored holds what stored authorities allow here against what they allowed in
// the process that stored them.
func useStored(t *testing.T, dir string) {
	raw, err := os.ReadFile(filepath.Join(filepath.Dir(dir), "kept.json"))
	var all []*kept
	if err == nil {
		err = json.Unmarshal(raw, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	keep := tools.New("test:keep", "Keep nothing.", func(struct{}) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} },
		func(context.Context, tools.Call, struct{}) (struct{}, error) { return struct{}{}, nil }, tools.Within(caps.ScopeAbility("invoke")))
	v := open(t, &venue.Options{Dir: dir, Tools: []*tools.Operation{keep}})
	stranger := open(t, nil)
	for i, k := range all {
		auth, err := v.OpenAuthority(k.Sealed)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := json.Marshal(auth); err != nil || string(again) != string(k.Sealed) {
			t.Fatalf("authority %d is stored as %s, %v, and was stored as %s", i, again, err, k.Sealed)
		}
		may, err := k.ask(v, auth)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(may, k.May) {
			t.Errorf("authority %d allows %v, and %v in the memory that it came from: %s", i, may, k.May, k.Sealed)
		}
		if _, err := stranger.OpenAuthority(k.Sealed); err == nil {
			t.Errorf("another venue opens authority %d", i)
		}
		changed := slices.Clone(k.Sealed)
		changed[len(changed)/3] ^= 1
		if _, err := v.OpenAuthority(changed); err == nil {
			t.Errorf("authority %d opens with a changed byte", i)
		}
	}
}

// keeping draws agents of several depths, programs that they wrote, and deeds
// that leave an authority of each of them in the test's hands.
func (t drawing) keeping(w *world) (all []*deed) {
	user := t.of(actors)
	in := actor{user: user}
	widely := []grant{{user, "*"}}
	all = append(all, &deed{by: in, kind: "agent_create", id: "a1", listed: true, caps: append(t.grants(user), widely...), own: t.one(4)})
	for i, id := range ids[1:] {
		maker := actor{user: user, path: []string{t.of(ids[:i+1])}}
		all = append(all, &deed{by: maker, kind: "agent_create", id: id, listed: !t.one(3), caps: widely, own: t.one(4)})
	}
	g := rapid.SampledFrom(abroad).Draw(t.T, "gives")
	other := t.other(user)
	all = append(all, &deed{by: actor{user: other}, kind: "ucan_delegate", audience: user, gives: grant{other + g.at, g.can}})
	for i, slot := range slots {
		maker := actor{user: user, path: []string{t.of(ids)}}
		all = append(all, &deed{by: maker, kind: "script", at: user + slot, script: script{kind: "keep", at: user + slot, value: fmt.Sprint(i)}})
	}
	for range 4 {
		by := actor{user: user}
		for range rapid.IntRange(1, 3).Draw(t.T, "depth") {
			by.path = append(by.path, t.of(ids))
		}
		if all = append(all, &deed{by: by, kind: "test_keep"}); t.one(2) {
			all[len(all)-1] = &deed{by: by, kind: "run", at: user + t.of(slots)}
		}
	}
	return all
}
