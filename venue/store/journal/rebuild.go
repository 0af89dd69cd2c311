package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"usher/venue/store"
	"usher/venue/store/badger"
	"usher/venue/store/memory"
)

var errEnough = errors.New("enough")

func yieldRecord(r *record, yield func(store.VersionRow, error) bool) bool {
	for _, op := range r.ops {
		if !yield(store.VersionRow{Op: op, Version: r.position}, nil) {
			return false
		}
	}
	return true
}

// settle returns when the index may be used: where it is in doubt, it is checked first, and made
// anew where it does not hold what it must.
func (j *Journal) settle() error {
	if j.doubt.Load() == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	doubt := j.doubt.Load()
	if doubt == nil {
		return nil
	}
	if j.index == nil && j.broken != nil && time.Since(j.tried) < time.Second {
		return j.broken
	}
	why := *doubt
	j.doubt.Store(nil) // what comes up meanwhile is another doubt
	if j.index != nil {
		sum, err := total(j.index)
		if err == nil && sum == j.now.sum {
			j.o.Logger.Info("the index was checked: nothing is missing", slog.Uint64("rows", sum.Rows))
			return nil
		}
		if err == nil {
			err = fmt.Errorf("it has %d rows, and should have %d", sum.Rows, j.now.sum.Rows)
		}
		why = fmt.Errorf("%w: %w", why, err)
	}
	return j.replace(why)
}

// replace makes the index anew. The caller holds mu.
func (j *Journal) replace(why error) error {
	j.abandon(j.index)
	j.index = nil
	j.spare.free()
	defer j.spare.hold()
	j.tried = time.Now()
	began := j.tried
	j.generation++
	j.doubt.Store(nil)
	open := j.newIndex
	if j.resting = !j.o.ReadOnly && j.mayRest(); j.resting || j.o.ReadOnly {
		open = newMemory
	}
	index, err := j.build(open)
	if err != nil {
		j.broken = fmt.Errorf("the index is in doubt (%w) and could not be made anew: %w", why, err)
		j.doubt.Store(&why)
		return j.broken
	}
	j.index, j.broken = index, nil
	j.tell("the index was in doubt (%v), and was made anew from the journal: %d rows in %s", why, j.now.sum.Rows, time.Since(began).Round(time.Millisecond))
	return nil
}

// abandon has an index closed that is not used any more, and then the folder of the last one on disk
// removed, once: what is still closed there would write to it for ever. Whoever only reads removes
// nothing. Nobody waits for it but [Journal.release]: it may hang in a disk that fails.
func (j *Journal) abandon(index Index) {
	path, keep := j.indexPath(), j.o.ReadOnly || j.gone == j.number
	j.gone = j.number
	j.old.Go(func() {
		if index != nil {
			_ = index.Abandon() // whatever it says, it is not needed any more
		}
		if keep {
			return
		}
		if err := os.RemoveAll(path); err != nil {
			j.o.Logger.Warn("an index that is not needed any more could not be removed", slog.Any("error", err))
		}
	})
}

func (j *Journal) indexPath() string {
	return filepath.Join(j.dir, indexDir, strconv.Itoa(j.number))
}

func (j *Journal) openIndex() (Index, error) {
	i, err := badger.Open(j.indexPath(), &badger.Options{Logger: j.o.Logger, Doubt: j.doubtful})
	if err != nil {
		return nil, err
	}
	return i, nil
}

// newIndex opens an index in a folder that none has had: one that was abandoned may still write to its
// own.
func (j *Journal) newIndex() (Index, error) {
	j.number++
	return j.openIndex()
}

func newMemory() (Index, error) { return memory.OpenIndex(), nil }

// build fills a new index with the newest snapshot that is good, and the journal after it, up to now,
// and checks it.
func (j *Journal) build(open func() (Index, error)) (index Index, err error) {
	all, err := segments(j.dir)
	if err != nil {
		return nil, err
	}
	kept, err := snapshots(j.dir)
	if err != nil {
		return nil, err
	}
	var errs []error
	for n := len(kept); n >= 0; n-- {
		from := snapshot{} // nothing, before the first record
		if n > 0 {
			from = kept[n-1]
		}
		if from.position > j.now.position {
			continue
		}
		if index, err = j.buildFrom(from, all, open); err == nil {
			return index, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func (j *Journal) buildFrom(from snapshot, all []segment, open func() (Index, error)) (_ Index, err error) {
	start := -1
	for i, s := range all {
		if s.first <= from.position+1 {
			start = i
		}
	}
	if start < 0 {
		return nil, fmt.Errorf("the journal does not reach back to record %d", from.position+1)
	}
	index, err := open()
	defer func() {
		if err != nil {
			j.abandon(index)
		}
	}()
	if err != nil {
		return nil, err
	}
	if err = j.replay(index, from, all[start:]); err != nil {
		return nil, err
	}
	sum, err := total(index)
	if err == nil && sum != j.now.sum {
		err = j.confirm(sum, from, all[start:])
	}
	return index, err
}

// confirm is for a sum of an index that the newest record does not carry. It is an error, unless
// memory comes to the same: what was written over a row that the index had lost made the record's
// false, and what the records say holds.
func (j *Journal) confirm(sum Sum, from snapshot, all []segment) error {
	index := memory.OpenIndex()
	if err := j.replay(index, from, all); err != nil {
		return err
	}
	switch is, err := total(index); {
	case err != nil:
		return err
	case is != sum:
		return fmt.Errorf("snapshot and journal give %d rows, and the journal says %d", sum.Rows, j.now.sum.Rows)
	}
	j.tell("record %d has a sum of %d rows that is not that of the %d rows which all records give: the next one is right", j.now.position, j.now.sum.Rows, sum.Rows)
	j.state.Lock()
	defer j.state.Unlock()
	j.now.sum = sum
	return nil
}

// replay writes a snapshot and the records after it, up to now, to an index.
func (j *Journal) replay(index Index, from snapshot, all []segment) error {
	step := j.progress()
	return index.Replay(func(yield func(store.VersionRow, error) bool) {
		if from.position > 0 {
			for row, err := range from.rows() {
				if !yield(store.VersionRow{Op: store.Op{Kind: store.OpPut, Key: row.Key, Value: row.Value}, Version: row.Rev}, err) || err != nil {
					return
				}
				step("snapshot", 1)
			}
		}
		if from.position == j.now.position {
			return
		}
		if _, err := walk(all, func(r *record) error {
			if r.position > from.position && !yieldRecord(r, yield) || r.position == j.now.position {
				return errEnough // what is behind it may be half written
			}
			step("journal", len(r.ops))
			return nil
		}); err != nil && !errors.Is(err, errEnough) {
			yield(store.VersionRow{}, err)
		}
	})
}

// total sums all rows of an index up, as they are at one moment.
func total(i Index) (sum Sum, err error) {
	view := i.Snapshot()
	defer view.End()
	return sumOf(view)
}

func sumOf(v store.View) (sum Sum, err error) {
	for row, err := range all(v) {
		if err != nil {
			return sum, err
		}
		sum.add(hash(row))
	}
	return sum, nil
}

// all goes through the rows of a view.
func all(v store.View) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		for from := ""; ; {
			rows, next, err := v.Page(store.Walk{From: from, Limit: 1000})
			if err != nil {
				yield(store.Row{}, err)
				return
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
			if from = next; next == "" {
				return
			}
		}
	}
}

// closeIndex closes the index that is in use.
func (j *Journal) closeIndex() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.index == nil {
		return nil
	}
	if j.doubt.Load() != nil { // whoever opens it next checks it
		index := j.index
		j.old.Go(func() { j.left = index.Abandon() })
		j.index, j.broken = nil, store.ErrClosed
		return nil
	}
	err := j.index.Close()
	if j.doubt.Load() != nil && !j.o.ReadOnly { // which came up while it was closed
		if removed := os.Remove(filepath.Join(j.indexPath(), badger.NoteFile)); !errors.Is(removed, fs.ErrNotExist) {
			err = errors.Join(err, removed)
		}
	}
	j.index, j.broken = nil, store.ErrClosed
	return err
}

// closeTime is how long indexes that are not used any more may take until they are closed.
const closeTime = 10 * time.Second

// release gives the folder free once the indexes that were abandoned write to it no more. One that
// hangs in a disk that fails has it until the process ends.
func (j *Journal) release() error {
	done := make(chan struct{})
	go func() {
		j.old.Wait()
		close(done)
	}()
	select {
	case <-done:
		if j.lock == nil {
			return j.left
		}
		return errors.Join(j.left, j.lock.Close())
	case <-time.After(closeTime):
		return fmt.Errorf("an index in %s hangs while it is closed: the folder is free when this process has ended", j.dir)
	}
}

// progress returns what tells now and then how far a long work is.
func (j *Journal) progress() func(what string, rows int) {
	last, done := time.Now(), make(map[string]int)
	return func(what string, rows int) {
		before := done[what]
		done[what] += rows
		if j.o.Progress == nil || before>>12 == done[what]>>12 || time.Since(last) < time.Second/2 {
			return
		}
		last = time.Now()
		j.o.Progress(fmt.Sprintf("making the index anew: %d rows of the %s", done[what], what))
	}
}
