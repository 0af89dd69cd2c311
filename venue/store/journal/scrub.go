package journal

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"usher/venue/store"
)

// scrub checks the index page by page while it is written. It keeps the sum of the rows below a
// cursor: of those that it has read, and of what was done to them since. At the end that is the sum
// of all rows, or rows are missing, false or too many. It holds no view longer than a page takes.
type scrub struct {
	mu      sync.Mutex // one scrub at a time
	active  bool
	sum     Sum
	cursor  string   // all below was read
	changes []change // at the cursor and above, since the page that is being read was begun
	again   bool     // the index was made anew
}

// follow notes what a group did. The caller holds the journal's state.
func (s *scrub) follow(changes []change) {
	if !s.active {
		return
	}
	for _, c := range changes {
		if c.key < s.cursor {
			s.sum.change(c.by)
		} else {
			s.changes = append(s.changes, c)
		}
	}
}

// errDiffers says that the index does not hold what it must.
var errDiffers = errors.New("the index does not hold what the journal says")

// Scrub reads the index through, waiting between two pages as pause says, and has it made anew where
// it does not hold what it must. It returns how many rows it has checked.
func (j *Journal) Scrub(ctx context.Context, pause func(context.Context) error) (rows uint64, err error) {
	s := &j.scrub
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		rows, err = j.scrubOnce(ctx, pause)
		switch {
		case errors.Is(err, errAnew):
			continue
		case errors.Is(err, errDiffers):
			j.doubtful(err)
			if settled := j.settle(); settled != nil {
				return rows, settled
			}
			return rows, err
		}
		return rows, err
	}
}

func (j *Journal) scrubOnce(ctx context.Context, pause func(context.Context) error) (rows uint64, err error) {
	if err := j.settle(); err != nil {
		return 0, err
	}
	s := &j.scrub
	j.state.Lock()
	s.active, s.sum, s.cursor, s.changes, s.again = true, Sum{}, "", s.changes[:0], false
	j.state.Unlock()
	defer func() {
		j.state.Lock()
		s.active = false
		j.state.Unlock()
	}()
	for {
		rows, end, err := j.scrubPage()
		if err == nil && !end {
			err = pause(ctx)
		}
		if end || err != nil {
			return rows, err
		}
	}
}

// scrubPage reads the page at the cursor, and returns how many rows were read with it.
func (j *Journal) scrubPage() (read uint64, end bool, err error) {
	s := &j.scrub
	v, _ := j.view(func() { s.changes = s.changes[:0] })
	defer v.End()
	rows, next, err := v.Page(store.Walk{From: s.cursor, Limit: 1000})
	if err != nil {
		return 0, false, err
	}
	var sum Sum
	for _, row := range rows {
		sum.addRow(row)
	}
	j.state.Lock()
	defer j.state.Unlock()
	if s.again {
		return 0, false, errAnew
	}
	s.sum.change(sum)
	for _, c := range s.changes {
		if next == "" || c.key < next {
			s.sum.change(c.by)
		}
	}
	s.cursor = next
	if next == "" && s.sum != j.now.sum {
		return s.sum.Rows, true, fmt.Errorf("%w: %d rows in place of %d", errDiffers, s.sum.Rows, j.now.sum.Rows)
	}
	return s.sum.Rows, next == "", nil
}
