package journal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
)

// What tops calls new is not in the index, whatever was written, deleted and rebuilt before.
func TestTops(t *testing.T) {
	j := open(t, t.TempDir(), nil)
	r := rand.New(rand.NewPCG(1, 2))
	known := 0
	for n := range 2000 {
		key := fmt.Sprintf("f%d/%04d", r.IntN(5), r.IntN(50)+n/4)
		puts, deletes := map[string][]byte{key: []byte("flat")}, []string(nil)
		switch r.IntN(8) {
		case 0:
			puts, deletes = nil, []string{key}
		case 1:
			puts[key+"/below"] = []byte("deeper")
		}
		if _, err := j.Apply(t.Context(), nil, puts, deletes); err != nil {
			t.Fatal(err)
		}
		asked := fmt.Sprintf("f%d/%04d", r.IntN(5), r.IntN(60)+n/4)
		err := j.read(func(i Index) error {
			j.writer.recent.young, j.writer.recent.old = nil, nil
			m, err := j.writer.recent.find(i, asked)
			if err != nil {
				return err
			}
			_, rev, err := i.Get(asked)
			if m.rev != rev {
				t.Errorf("step %d: %s is found at revision %d, and is at %d", n, asked, m.rev, rev)
			}
			if j.writer.recent.tops.isNew(i, asked) {
				known++
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if known < 100 {
		t.Errorf("%d of the keys were known to be new, want 100 or more", known)
	}
}

// What was learned of an index that had lost rows does not outlive it.
func TestTopsOfLost(t *testing.T) {
	j := open(t, t.TempDir(), nil)
	put(t, j, map[string]string{"f/9": "kept"})
	lose(t, j, "f/9")
	for n := range lookFrom {
		put(t, j, map[string]string{fmt.Sprintf("f/%d", n): "new"})
	}
	j.writer.recent.young = nil
	if !j.writer.recent.tops.isNew(j.index, "f/9") {
		t.Fatal("the loss went unlearned")
	}
	j.doubtful(errors.New("a compaction lost a table"))
	err := j.read(func(i Index) error {
		m, err := j.writer.recent.find(i, "f/9")
		if m.rev == 0 {
			t.Error("the row that the rebuild brought back is not found")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
