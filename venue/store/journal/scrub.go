package journal

import (
	"context"
	"errors"
	"fmt"

	"usher/venue/store"
)

// errDiffers says that the index does not hold what it must.
var errDiffers = errors.New("the index does not hold what the journal says")

// scrub reads the index through, as it is at one moment, waiting between two pages as pause says, and
// has it made anew where it does not hold what it must. It returns how many rows it has checked.
func (j *Journal) scrub(ctx context.Context, pause func(context.Context) error) (rows uint64, err error) {
	for {
		if err := j.settle(); err != nil {
			return 0, err
		}
		v, at := j.view()
		sum, err := sumOf(pacer{v, func() error { return pause(ctx) }})
		v.End()
		switch {
		case errors.Is(err, errAnew):
			continue
		case err != nil || sum == at.sum:
			return sum.Rows, err
		}
		err = fmt.Errorf("%w: %d rows in place of %d", errDiffers, sum.Rows, at.sum.Rows)
		j.doubtful(err)
		if settled := j.settle(); settled != nil {
			return sum.Rows, settled
		}
		return sum.Rows, err
	}
}

// pacer is a view that waits before each page, and ends where waiting fails.
type pacer struct {
	store.View
	wait func() error
}

func (p pacer) Page(w store.Walk) ([]store.Row, string, error) {
	if err := p.wait(); err != nil {
		return nil, "", err
	}
	return p.View.Page(w)
}

// under is a view that ends with a context.
func under(ctx context.Context, v store.View) store.View { return pacer{v, ctx.Err} }
