package ledger

import (
	"context"
	"iter"

	"usher/tools"
)

// Judged is a row with what came of the call that it decides on.
type Judged struct {
	Row
	Late *Row // the row of the outcome; nil where none was found
}

// LastJudged is [Reader.Last] with the outcomes of decisions, which are looked for among
// as many rows behind before. A decision whose handler found that the caller may not has
// that verdict.
func (r *Reader) LastJudged(ctx context.Context, before, behind uint64) iter.Seq2[Judged, error] {
	return func(yield func(Judged, error) bool) {
		outcomes := make(map[uint64]*Row)
		from := before
		if from > 0 {
			from += behind
		}
		for row, err := range r.Last(ctx, from) {
			if err != nil {
				yield(Judged{}, err)
				return
			}
			if row.Of != 0 {
				outcomes[row.Of] = &row
			}
			j := Judged{row, outcomes[row.Seq]}
			delete(outcomes, row.Seq)
			if j.Late != nil && j.Late.Outcome == OutcomeDenied && j.Entry != nil {
				e := *j.Entry
				e.Verdict, e.Reason = tools.Denied, j.Late.Error
				j.Entry = &e
			}
			if (before == 0 || row.Seq < before) && !yield(j, nil) {
				return
			}
		}
	}
}
