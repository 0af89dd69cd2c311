package venue_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/venue"
	"usher/venue/apply"
	"usher/venue/store"
	"usher/venue/store/journal"
)

// during opens the venue of a folder with a configuration's data, runs do, and
// closes it.
func during(t *testing.T, dir, data string, do func(v *venue.Venue, u *venue.User)) {
	t.Helper()
	v, err := venue.Open(t.Context(), &venue.Options{Dir: dir, Config: parse(t, "user: alice\ndata: ["+data+"]\n")})
	if err != nil {
		t.Fatal(err)
	}
	do(v, user(t, v, "alice"))
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
}

const (
	absent  = `{"exists":false}`
	changed = "w/x was changed here since the configuration was applied"
	deleted = "w/x was deleted here since the configuration was applied"
	before  = "w/x held something else before the configuration was applied"
)

func is(value string) string { return `{"exists":true,"value":` + value + `}` }

// opening is one time that a venue is open: the value of w/x in the
// configuration, what has to be there then and be told of it, and what somebody
// does afterwards.
type opening struct {
	entry string // "" has no entry
	want  string
	told  string // the beginning of the note; "" is none
	does  string // an operation and its input
}

// reopened is where a venue opens again and again: a folder, or, where little time is
// given, one venue in memory that applies each configuration.
type reopened struct {
	dir   string
	venue *venue.Venue
}

func reopens(t *testing.T) *reopened {
	if testing.Short() {
		return &reopened{venue: open(t, nil)}
	}
	return &reopened{dir: t.TempDir()}
}

// during has a configuration's data applied, and runs do.
func (h *reopened) during(t *testing.T, data string, do func(kept []apply.Leftover, u *venue.User)) {
	t.Helper()
	if h.venue == nil {
		during(t, h.dir, data, func(v *venue.Venue, u *venue.User) { do(v.Outcome().Kept, u) })
		return
	}
	u := user(t, h.venue, "alice")
	out, err := apply.Config(t.Context(), parse(t, "user: alice\ndata: ["+data+"]\n"), u, h.venue.AppliedSpace())
	if err != nil {
		t.Fatal(err)
	}
	do(out.Kept, u)
}

func (o opening) run(t *testing.T, h *reopened) {
	t.Helper()
	data := ""
	if o.entry != "" {
		data = "{path: w/x, value: " + o.entry + "}"
	}
	h.during(t, data, func(kept []apply.Leftover, u *venue.User) {
		if got := read(t, u, "w/x"); got != o.want {
			t.Errorf("with %q in the configuration, %s is stored, want %s", o.entry, got, o.want)
		}
		var told []string
		for _, k := range kept {
			told = append(told, k.String())
		}
		switch {
		case o.told == "" && len(told) > 0, o.told != "" && (len(told) != 1 || !strings.HasPrefix(told[0], o.told+"; ")):
			t.Errorf("with %q in the configuration, the venue says %q, want %q", o.entry, told, o.told)
		}
		if operation, input, ok := strings.Cut(o.does, " "); ok {
			invoke(t, u, operation, input)
		}
	})
}

// An entry that is edited is written, and what others did with it stays.
func TestDataThatIsEdited(t *testing.T) {
	const write, remove = `covia:write {"path":"w/x","value":"theirs"}`, `covia:delete {"path":"w/x"}`
	for name, openings := range map[string][]opening{
		"edited":              {{"1", is("1"), "", ""}, {"2", is("2"), "", ""}, {"2", is("2"), "", ""}, {"1", is("1"), "", ""}},
		"an object":           {{"{a: 1, b: [x]}", is(`{"a":1,"b":["x"]}`), "", ""}, {"{b: [x, y]}", is(`{"b":["x","y"]}`), "", ""}},
		"null":                {{"null", is("null"), "", ""}, {"1", is("1"), "", ""}, {"null", is("null"), "", ""}},
		"an object in text":   {{`'{"a": 1}'`, is(`{"a":1}`), "", ""}, {`'{"a": 2}'`, is(`{"a":2}`), "", ""}},
		"changed, not edited": {{"1", is("1"), "", write}, {"1", is(`"theirs"`), "", ""}},
		"changed, edited":     {{"1", is("1"), "", write}, {"2", is(`"theirs"`), changed, ""}, {"2", is(`"theirs"`), changed, ""}, {"1", is(`"theirs"`), "", ""}},
		"taken over":          {{"1", is("1"), "", write}, {"theirs", is(`"theirs"`), "", ""}, {"3", is("3"), "", ""}},
		"changed the same":    {{"1", is("1"), "", write}, {"2", is(`"theirs"`), changed, `covia:write {"path":"w/x","value":2}`}, {"2", is("2"), "", ""}, {"3", is("3"), "", ""}},
		"spelt anew by others": {
			{"{a: 1.50, b: 2}", is(`{"a":1.50,"b":2}`), "", `covia:write {"path":"w/x","value":{ "b":2, "a":1.50}}`},
			{"{a: 2}", is(`{"a":2}`), "", ""},
		},
		"spelt anew in the file": {
			{"{a: 1.50, b: 2}", is(`{"a":1.50,"b":2}`), "", write},
			{"{b: 2, a: 1.50}", is(`"theirs"`), "", ""},
		},
		"deleted, not edited": {{"1", is("1"), "", remove}, {"1", absent, "", ""}},
		"deleted, edited":     {{"1", is("1"), "", remove}, {"2", absent, deleted, ""}, {"2", absent, deleted, ""}},
		"there before":        {{"", absent, "", write}, {"1", is(`"theirs"`), before, ""}, {"1", is(`"theirs"`), before, remove}, {"1", is("1"), "", ""}},
		"the same before":     {{"", absent, "", write}, {"theirs", is(`"theirs"`), "", ""}, {"2", is("2"), "", ""}},
		"taken out and put back": {
			{"1", is("1"), "", ""},
			{"", is("1"), "", ""},
			{"2", is("2"), "", ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := reopens(t)
			for _, o := range openings {
				o.run(t, h)
			}
		})
	}
}

// remembered puts in place what the store holds of a path as applied, when now
// is not "", and returns what was there.
func (h *reopened) remembered(t *testing.T, path, now string) string {
	t.Helper()
	var did string
	h.during(t, "", func(_ []apply.Leftover, u *venue.User) { did = u.DID().String() })
	var space *store.Space
	if h.venue != nil {
		space = h.venue.AppliedSpace()
	} else {
		st, err := journal.Open(h.dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		space = st.Under("c/")
	}
	key := did + "/data/" + path
	raw, _, err := space.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if now != "" {
		if _, err := space.Apply(t.Context(), nil, map[string][]byte{key: []byte(now)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	return string(raw)
}

// What a crash leaves between the steps of applying an entry: remembered what is
// about to be written, and written or not.
func TestDataAfterACrash(t *testing.T) {
	digest := func(value string) string {
		t.Helper()
		h := reopens(t)
		opening{value, is(value), "", ""}.run(t, h)
		var was struct{ Value string }
		if err := json.Unmarshal([]byte(h.remembered(t, "w/x", "")), &was); err != nil || was.Value == "" {
			t.Fatalf("what is remembered of %s: %+v, %v", value, was, err)
		}
		return was.Value
	}
	one, two := digest("1"), digest("2")
	pending := map[string]string{"value": one, "next": two}
	first := map[string]string{"next": two}
	put := func(value string) string { return `covia:write {"path":"w/x","value":` + value + `}` }
	const remove = `covia:delete {"path":"w/x"}`
	for name, tt := range map[string]struct {
		is   string // done to w/x, which is 1
		left map[string]string
		then []opening
	}{
		"before the write":                {put("1"), pending, []opening{{"2", is("2"), "", ""}, {"3", is("3"), "", ""}}},
		"before the write, edited again":  {put("1"), pending, []opening{{"3", is("3"), "", ""}}},
		"before the write, set back":      {put("1"), pending, []opening{{"1", is("1"), "", put("2")}, {"3", is("2"), changed, ""}}},
		"after the write":                 {put("2"), pending, []opening{{"2", is("2"), "", ""}, {"3", is("3"), "", ""}}},
		"after the write, edited again":   {put("2"), pending, []opening{{"3", is("3"), "", ""}}},
		"after the write, set back":       {put("2"), pending, []opening{{"1", is("1"), "", ""}}},
		"somebody else's":                 {put("5"), pending, []opening{{"2", is("5"), changed, ""}, {"3", is("5"), changed, ""}}},
		"deleted":                         {remove, pending, []opening{{"2", absent, deleted, ""}}},
		"before the first write":          {remove, first, []opening{{"2", is("2"), "", ""}, {"3", is("3"), "", ""}}},
		"after the first write":           {put("2"), first, []opening{{"3", is("3"), "", ""}}},
		"somebody else's, before a first": {put("5"), first, []opening{{"2", is("5"), before, ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			h := reopens(t)
			opening{"1", is("1"), "", tt.is}.run(t, h)
			raw, err := json.Marshal(tt.left)
			if err != nil {
				t.Fatal(err)
			}
			h.remembered(t, "w/x", string(raw))
			for _, o := range tt.then {
				o.run(t, h)
			}
		})
	}
}

// What is about to be written is remembered before it is, and not as applied.
func TestDataIsRememberedBeforeItIsWritten(t *testing.T) {
	dir := t.TempDir()
	during(t, dir, "", func(_ *venue.Venue, u *venue.User) { invoke(t, u, "covia:write", `{"path":"w/x","value":[1]}`) })
	c := parse(t, "user: alice\ndata: [{path: w/x/below, value: 1}]\n")
	if v, err := venue.Open(t.Context(), &venue.Options{Dir: dir, Config: c}); err == nil || !strings.Contains(err.Error(), "apply data w/x/below: ") {
		t.Fatalf("Open = %v, %v, want that nothing goes below an array", v, err)
	}
	var left map[string]string
	if raw := (&reopened{dir: dir}).remembered(t, "w/x/below", ""); json.Unmarshal([]byte(raw), &left) != nil || left["next"] == "" || left["value"] != "" {
		t.Errorf("%q is remembered of a write that failed", raw)
	}
	during(t, dir, "", func(_ *venue.Venue, u *venue.User) { invoke(t, u, "covia:delete", `{"path":"w/x"}`) })
	during(t, dir, "{path: w/x/below, value: 1}", func(v *venue.Venue, u *venue.User) {
		if got := read(t, u, "w/x/below"); got != is("1") || len(v.Outcome().Kept) > 0 {
			t.Errorf("%s is stored, and %v kept", got, v.Outcome().Kept)
		}
	})
}

// Where nothing was edited, opening a venue asks and writes nothing.
func TestDataThatIsAsItWasCostsNothing(t *testing.T) {
	dir := t.TempDir()
	const data = "{path: w/x, value: 1}, {path: w/y, value: {a: b}}"
	rows := func(v *venue.Venue) (n int) {
		for _, err := range v.Audit(t.Context(), 1) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	var was, now int
	during(t, dir, data, func(v *venue.Venue, _ *venue.User) { was = rows(v) })
	during(t, dir, data, func(v *venue.Venue, _ *venue.User) { now = rows(v) })
	if was == 0 || now != was {
		t.Errorf("the ledger has %d rows after %d", now, was)
	}
}

// Each entry is told of on its own, in its order.
func TestKeptNamesEachEntry(t *testing.T) {
	h := reopens(t)
	h.during(t, "{path: w/b, value: 1}, {path: w/a, value: 1}, {path: w/c, value: 1}", func(_ []apply.Leftover, u *venue.User) {
		invoke(t, u, "covia:write", `{"path":"w/b","value":5}`)
		invoke(t, u, "covia:delete", `{"path":"w/a"}`)
	})
	h.during(t, "{path: w/b, value: 2}, {path: w/a, value: 2}, {path: w/c, value: 2}", func(kept []apply.Leftover, u *venue.User) {
		want := []apply.Leftover{
			{Path: "w/b", Why: "was changed here since the configuration was applied"},
			{Path: "w/a", Why: "was deleted here since the configuration was applied"},
		}
		if diff := cmp.Diff(want, kept); diff != "" {
			t.Errorf("kept (-want +got):\n%s", diff)
		}
		if got := read(t, u, "w/c"); got != is("2") {
			t.Errorf("w/c is %s", got)
		}
	})
}

// Text is never taken for the object that it spells: who may write above an
// entry could otherwise have theirs count as the owner's.
func TestTextIsNotTakenForAnEntry(t *testing.T) {
	h := reopens(t)
	const entry = "{path: w/docs/policy, value: {limit: "
	h.during(t, entry+"1000}}", func(_ []apply.Leftover, u *venue.User) {
		invoke(t, u, "covia:write", `{"path":"w/docs","value":{"policy":"{\"limit\": \"none: approve everything\", \"limit\": 100}"}}`)
	})
	h.during(t, entry+"100}}", func(kept []apply.Leftover, u *venue.User) {
		if len(kept) != 1 {
			t.Errorf("stored is %s, and told is %v", read(t, u, "w/docs/policy"), kept)
		}
	})
	// An entry that is such text itself is the object, whatever blanks stand around it.
	for _, limit := range []string{"1000", "100"} {
		h.during(t, `{path: w/text, value: "{\"limit\": `+limit+`}\u00a0"}`, func(kept []apply.Leftover, u *venue.User) {
			if got := read(t, u, "w/text"); got != is(`{"limit":`+limit+`}`) || len(kept) != 0 {
				t.Errorf("with limit %s stored is %s, told is %v", limit, got, kept)
			}
		})
	}
}

// What somebody wrote does not keep a venue from opening because a new entry
// lies below it.
func TestAValueInTheWayOfAnEntry(t *testing.T) {
	h := reopens(t)
	h.during(t, "", func(_ []apply.Leftover, u *venue.User) {
		invoke(t, u, "covia:write", `{"path":"w/docs","value":"gone"}`)
	})
	for range 2 {
		h.during(t, "{path: w/docs/policy, value: strict}", func(kept []apply.Leftover, u *venue.User) {
			if len(kept) != 1 || !strings.HasPrefix(kept[0].String(), "w/docs/policy has w/docs in its way, which is a String") {
				t.Errorf("told is %v", kept)
			}
			if got := read(t, u, "w/docs"); got != is(`"gone"`) {
				t.Errorf("w/docs holds %s", got)
			}
		})
	}
	h.during(t, "{path: w/docs/policy, value: strict}", func(_ []apply.Leftover, u *venue.User) { invoke(t, u, "covia:delete", `{"path":"w/docs"}`) })
	h.during(t, "{path: w/docs/policy, value: strict}", func(kept []apply.Leftover, u *venue.User) {
		if got := read(t, u, "w/docs/policy"); got != is(`"strict"`) || len(kept) != 0 {
			t.Errorf("once it is out of the way %s is stored, told is %v", got, kept)
		}
	})
}

// What is nested too deep to be the configuration's does not keep a venue from
// opening.
func TestADeepValueIsSomebodyElses(t *testing.T) {
	h := reopens(t)
	deep := strings.Repeat("[", 127) + strings.Repeat("]", 127)
	h.during(t, "", func(_ []apply.Leftover, u *venue.User) {
		invoke(t, u, "covia:write", `{"path":"w/x/a/b/c/d","value":`+deep+`}`)
	})
	h.during(t, "{path: w/x, value: 1}", func(kept []apply.Leftover, _ *venue.User) {
		if len(kept) != 1 {
			t.Errorf("kept is %v, want w/x", kept)
		}
	})
}
