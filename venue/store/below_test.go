package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/venue/store"
)

// What lies below a prefix is copied and removed whole, more than one batch takes
// and less than a page, and nothing beside it.
func TestCopyAndRemoveBelow(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store) {
		large := strings.Repeat("x", store.MaxApplyBytes/3)
		for i := range 5 {
			apply(t, s, nil, map[string][]byte{fmt.Sprintf("a/%d", i): []byte(large)})
		}
		apply(t, s, nil, map[string][]byte{"b/x": []byte("1"), "ab": []byte("2"), "to/b/y": []byte("3")})
		if err := s.CopyBelow(t.Context(), [2]string{"a/", "to/a/"}, [2]string{"b/", "to/b/"}, [2]string{"none/", "to/none/"}); err != nil {
			t.Fatal(err)
		}
		want := []string{"to/a/0", "to/a/1", "to/a/2", "to/a/3", "to/a/4", "to/b/x", "to/b/y"}
		keys, _, err := s.PageKeys(t.Context(), "to/", "", 100)
		if diff := cmp.Diff(want, keys); err != nil || diff != "" {
			t.Errorf("copied are (-want +got): %s%v", diff, err)
		}
		if value, _, err := s.Get(t.Context(), "to/a/4"); err != nil || string(value) != large {
			t.Errorf("a copy has %d bytes, want %d: %v", len(value), len(large), err)
		}
		many := make(map[string][]byte)
		for i := range 1000 {
			many[fmt.Sprintf("a/many/%d", i)] = nil
		}
		apply(t, s, nil, many)
		if err := s.RemoveBelow(t.Context(), "a/"); err != nil {
			t.Fatal(err)
		}
		keys, _, err = s.PageKeys(t.Context(), "a", "", 100)
		if diff := cmp.Diff([]string{"ab"}, keys); err != nil || diff != "" {
			t.Errorf("after removing there are (-want +got): %s%v", diff, err)
		}
	})
}
