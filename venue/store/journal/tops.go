package journal

import (
	"strings"

	"usher/venue/store"
)

// tops knows of folders that grow at their end, as those of rows, runs and sessions do, above which
// key there is nothing: most writes are of new rows there, and need not ask the index. A folder is
// what a key has up to its last slash. What tops knows holds for one index, and it keeps between one
// and two times its bound. Whoever leads the queue uses it.
type tops struct {
	of         Index
	young, old map[string]*top
}

// top is what is known of a folder.
type top struct {
	last  string // no key of the folder is above it; empty where that is not known
	asked int    // how many keys were asked for that were not there
}

const (
	maxTops  = 1024
	lookFrom = 4 // new keys, after which a folder is looked at; and again after twice as many
)

func folderOf(key string) string { return key[:strings.LastIndexByte(key, '/')+1] }

// isNew says that the index has no such key, where that is known.
func (t *tops) isNew(i Index, key string) bool {
	if t.of != i {
		*t = tops{of: i}
	}
	k := t.find(folderOf(key))
	return k != nil && k.last != "" && key > k.last
}

// noteMiss notes that the index has no such key, and looks now and then whether anything is above it.
func (t *tops) noteMiss(i Index, key string) error {
	in := folderOf(key)
	k := t.find(in)
	if k == nil {
		k = &top{}
		t.keep(in, k)
	}
	if k.asked++; k.last != "" || k.asked < lookFrom || k.asked&(k.asked-1) != 0 {
		return nil
	}
	rows, _, err := i.Page(store.Walk{Prefix: in, From: key, Limit: 1, Keys: true})
	if err == nil && len(rows) == 0 {
		k.last = key
	}
	return err
}

// noteWrite notes that a key is there now.
func (t *tops) noteWrite(key string) {
	if k := t.find(folderOf(key)); k != nil && k.last != "" {
		k.last = max(k.last, key)
	}
}

func (t *tops) find(in string) *top {
	if k := t.young[in]; k != nil {
		return k
	}
	k := t.old[in]
	if k != nil {
		t.keep(in, k)
	}
	return k
}

func (t *tops) keep(in string, k *top) {
	if t.young == nil || len(t.young) >= maxTops {
		t.young, t.old = make(map[string]*top), t.young
	}
	t.young[in] = k
}
