package venue

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/time/rate"

	"usher/tools"
	"usher/tools/audit"
	"usher/tools/fault"
	"usher/venue/ledger"
)

// audits answers the operations that read the ledger.
type audits struct {
	ledger *ledger.Ledger
	signs  *rate.Limiter // checkpoints that callers ask for: each stays, and is brought elsewhere
}

func newAudits(l *ledger.Ledger) *audits { return &audits{l, rate.NewLimiter(1, 10)} }

var _ audit.Service = (*audits)(nil)

// Bounds of a page: others' rows are passed over.
const (
	rowsOfPage   = 100    // where nobody says
	rowsLookedAt = 10_000 // for one page
	rowsBehind   = 1000   // before the first of a page, where outcomes are looked for
)

// rowView is a row as it is listed.
type rowView struct {
	ledger.Row
	Outcome string `json:"outcome,omitempty"` // ok, failed, denied, waiting or unknown; empty where it is not known yet
	Error   string `json:"error,omitempty"`
}

// List is that of [audit.Service].
func (a *audits) List(ctx context.Context, call tools.Call, q audit.Query) (out audit.Listing, err error) {
	var before uint64
	if q.Cursor != "" {
		if before, err = strconv.ParseUint(q.Cursor, 10, 62); err != nil || before == 0 {
			return out, fault.New(fault.InvalidInput, "cursor is none that a page returned: leave it out to begin with the newest row")
		}
	}
	out.Rows = []json.RawMessage{}
	looked := 0
	for j, err := range a.ledger.LastVerdicts(ctx, before, rowsBehind) {
		if err == nil {
			err = call.Meter().Charge(ctx, tools.Steps, 1)
		}
		if err != nil {
			return out, err
		}
		if looked++; a.wants(call, &q, &j) {
			row := rowView{Row: j.Row}
			if j.Late != nil {
				row.Outcome, row.Error = j.Late.Outcome, j.Late.Error
			}
			raw, err := json.Marshal(row)
			if err != nil {
				return out, err
			}
			out.Rows = append(out.Rows, raw)
		}
		if len(out.Rows) == cmp.Or(q.Limit, rowsOfPage) || looked == rowsLookedAt {
			if j.Seq > 1 {
				out.Cursor = strconv.FormatUint(j.Seq, 10)
			}
			return out, nil
		}
	}
	return out, nil
}

func (a *audits) wants(call tools.Call, q *audit.Query, j *ledger.Verdict) bool {
	return j.Entry != nil && j.Owner == call.Owner().String() && (q.Agent == "" || j.Actor == q.Agent || slices.Contains(j.Wrote, q.Agent)) && (!q.Denied || j.IsDenied())
}

// Prove is that of [audit.Service]. What is not the caller's is not there.
func (a *audits) Prove(ctx context.Context, call tools.Call, in audit.RowRef) (out audit.Proof, err error) {
	none := fault.New(fault.NotFound, fmt.Sprintf("there is no row %d of yours: audit:list has their numbers", in.Row))
	of, err := a.row(ctx, in.Row)
	if err == nil && of != nil && of.Of != 0 {
		of, err = a.row(ctx, of.Of)
	}
	if err != nil {
		return out, err
	}
	if of == nil || of.Entry == nil || of.Owner != call.Owner().String() {
		return out, none
	}
	if in.Row > a.ledger.LastCheckpoint().Size && !a.signs.Allow() {
		return out, errSigns
	}
	p, err := a.ledger.Prove(ctx, in.Row)
	if err != nil {
		return out, err
	}
	out = audit.Proof{Row: p.Row, Index: p.Index, Hashes: make([]string, len(p.Hashes)), Checkpoint: p.Checkpoint, Text: p.Text()}
	for i, h := range p.Hashes {
		out.Hashes[i] = h.String()
	}
	return out, nil
}

// row returns a row; nil where there is none.
func (a *audits) row(ctx context.Context, seq uint64) (*ledger.Row, error) {
	if seq >= 1<<62 {
		return nil, nil
	}
	for row, err := range a.ledger.Last(ctx, seq+1) {
		if err != nil || row.Seq != seq {
			return nil, err
		}
		return &row, nil
	}
	return nil, nil
}

var errSigns = fault.New(fault.Busy, "too many checkpoints are asked for: the next one is made within a minute by itself")

// Checkpoint is that of [audit.Service].
func (a *audits) Checkpoint(ctx context.Context, _ tools.Call, _ audit.Nothing) (audit.Checkpoint, error) {
	c := a.ledger.LastCheckpoint()
	if c.Size == 0 || a.signs.Allow() {
		var err error
		if c, err = a.ledger.Checkpoint(ctx); err != nil {
			return audit.Checkpoint{}, err
		}
	}
	return audit.Checkpoint{Size: c.Size, Note: c.Note}, nil
}
