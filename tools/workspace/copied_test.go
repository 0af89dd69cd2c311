package workspace_test

import (
	"encoding/json"
	"slices"
	"testing"

	"usher/tools"
	"usher/tools/workspace"
	"usher/ucan"
	"usher/venue/store/memory"
)

// A copy of a program has those as its authors who wrote what was copied, also where
// another writes the program whole in the middle of it.
func TestACopyHasTheAuthorsOfWhatWasCopied(t *testing.T) {
	var dids []ucan.DID
	for _, seed := range []string{"0123456789abcdef0123456789abcdef", "1123456789abcdef0123456789abcdef", "2123456789abcdef0123456789abcdef"} {
		key, err := ucan.KeyFromSeed([]byte(seed))
		if err != nil {
			t.Fatal(err)
		}
		dids = append(dids, key.DID())
	}
	const program = `{"operation":{"adapter":"covia:read"}}`
	by := map[string]tools.Author{program: {As: dids[:1]}, `{"other":1}`: {As: dids[1:2]}}
	copier := tools.Author{As: dids[2:]}
	from, to, owner := at(t, "o/from"), at(t, "o/to"), dids[2].String()
	for n := 1; ; n++ {
		s := memory.Open()
		m := &meddler{Store: s.Under(""), every: true}
		tree, other := workspace.NewTree(m, nil), workspace.NewTree(s.Under(""), nil)
		if err := other.By(by[program]).Put(t.Context(), owner, from, json.RawMessage(program)); err != nil {
			t.Fatal(err)
		}
		m.mu.Lock()
		m.n, m.before = 0, map[int]func() error{n: func() error {
			return other.By(by[`{"other":1}`]).Put(t.Context(), owner, from, json.RawMessage(`{"other":1}`))
		}}
		m.mu.Unlock()
		if err := tree.By(copier).Copy(t.Context(), owner, from, owner, to); err != nil {
			t.Fatal(err)
		}
		m.rest()
		value, _, err := tree.Get(t.Context(), owner, to)
		if err != nil {
			t.Fatal(err)
		}
		author, _, err := tree.Authors(t.Context(), owner, to)
		want := append(slices.Clone(copier.As), by[string(value)].As...)
		if err != nil || !slices.Equal(author.As, want) {
			t.Errorf("with a write before read %d the copy of %s is of %v, %v; want %v", n, value, author.As, err, want)
		}
		for _, c := range []interface{ Close() error }{tree, other, s} {
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if m.mu.Lock(); n > m.n {
			return
		}
		m.mu.Unlock()
	}
}
