package journal

import (
	"usher/venue/store"
)

// mark is what a write asks of a row: its revision, 0 where there is none, and its part of the sum.
type mark struct {
	rev  uint64
	hash [4]uint64
}

// recent knows the rows that were written last, as most of those that a turn writes are the same as
// before: heads, records, accounts. It holds between one and two times its bound. Whoever leads the
// queue uses it.
type recent struct {
	young, old map[string]mark
	tops       tops
}

const maxRecent = 2048

// find returns the mark of a row, from the index where it was not written of late.
func (r *recent) find(i Index, key string) (m mark, err error) {
	if m, ok := r.young[key]; ok {
		return m, nil
	}
	if m, ok := r.old[key]; ok {
		return m, nil
	}
	if r.tops.isNew(i, key) {
		return m, nil
	}
	value, rev, err := i.Get(key)
	switch {
	case err != nil:
		return m, err
	case rev == 0:
		return m, r.tops.noteMiss(i, key)
	}
	return mark{rev, hash(store.Row{Key: key, Value: value, Rev: rev})}, nil
}

func (r *recent) note(key string, m mark) {
	if r.young == nil || len(r.young) >= maxRecent {
		r.young, r.old = make(map[string]mark, maxRecent), r.young
	}
	r.young[key] = m
	r.tops.noteWrite(key)
}
