package store

import "context"

// CopyBelow copies the rows below prefixes, as all of them are at one moment, to below others:
// prefix by prefix, each in the order of its keys, in as many batches as it takes.
func (s *Space) CopyBelow(ctx context.Context, prefixes ...[2]string) error {
	snap, err := s.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer snap.Close()
	w := NewWriter(s)
	for _, p := range prefixes {
		for row, err := range Rows(ctx, snap, p[0], "") {
			if err != nil {
				return err
			}
			if err := w.Put(ctx, p[1]+row.Key[len(p[0]):], row.Value); err != nil {
				return err
			}
		}
	}
	return w.Flush(ctx)
}

// RemoveBelow removes the rows below a prefix, page by page.
func (s *Space) RemoveBelow(ctx context.Context, prefix string) error {
	for {
		keys, next, err := s.PageKeys(ctx, prefix, "", rowsAtOnce)
		if err != nil || len(keys) == 0 {
			return err
		}
		if _, err := s.Apply(ctx, nil, nil, keys); err != nil || next == "" {
			return err
		}
	}
}
