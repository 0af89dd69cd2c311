package accounts

import (
	"context"
	"slices"

	"usher/runtime"
	"usher/tools/spend"
)

// draft adds to put the totals of the budgets of ctx that are not stored as they
// are now, and returns their accounts, for [Book.noteWrite]. of says which
// budgets; nil is all.
//
// Nothing is locked while a batch is on its way. Where two with a total of one
// account are, which of them comes last is not known, and whoever ends last
// stores it once more.
func (s *Book) draft(ctx context.Context, put map[string][]byte, of func(*spend.Budget) bool) (drafts []*account) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range runtime.Budgets(ctx) {
		a := s.open[b.Account()]
		if a == nil || of != nil && !of(b) {
			continue
		}
		total := b.Total()
		if total == a.total && !a.unclear || a.budget.Value() != b {
			continue // as it is stored, or of an account that was removed meanwhile
		}
		a.unclear = a.writes > 0
		a.total = total
		a.writes++
		put[a.key], _ = total.MarshalJSON() // of numbers
		if drafts == nil {
			drafts = make([]*account, 0, 4) // the session's, the agent's, and perhaps of those above it
		}
		drafts = append(drafts, a)
	}
	return drafts
}

// Draft adds the totals of all that ctx is charged to.
func (s *Book) Draft(ctx context.Context, put map[string][]byte) (written func(stored bool)) {
	drafts := s.draft(ctx, put, nil)
	if len(drafts) == 0 {
		return nil
	}
	return func(stored bool) { s.noteWrite(ctx, drafts, stored) }
}

// noteWrite says how a batch with drafts ended.
func (s *Book) noteWrite(ctx context.Context, drafts []*account, stored bool) {
	s.mu.Lock()
	again := false
	for _, a := range drafts {
		a.writes--
		a.unclear = a.unclear || !stored
		again = again || a.unclear && a.writes == 0
	}
	s.mu.Unlock()
	if again && stored {
		s.save(ctx, func(b *spend.Budget) bool {
			return slices.ContainsFunc(drafts, func(a *account) bool { return a.unclear && a.writes == 0 && a.budget.Value() == b })
		})
	}
}

// save stores the totals of the budgets of ctx that are not stored as they are.
// An answer has been paid for: it is not withheld because this fails.
func (s *Book) save(ctx context.Context, of func(*spend.Budget) bool) {
	put := make(map[string][]byte)
	drafts := s.draft(ctx, put, of)
	if len(drafts) == 0 {
		return
	}
	_, err := s.space.Apply(context.WithoutCancel(ctx), nil, put, nil)
	if err != nil {
		s.log.ErrorContext(ctx, "what was spent is not stored", "account", drafts[0].key, "error", err)
	}
	s.noteWrite(ctx, drafts, err == nil)
}

// Hold stores what limited budgets hold, before a model is asked.
func (s *Book) Hold(ctx context.Context) {
	s.save(ctx, func(b *spend.Budget) bool { return b.Limits() != (spend.Limits{}) })
}

// Save stores all totals of the budgets of ctx that are not stored as they are.
func (s *Book) Save(ctx context.Context) { s.save(ctx, nil) }
