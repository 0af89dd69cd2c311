package store

import "context"

// Space is the part of a store whose keys begin with one prefix, which its
// users do not see. Spaces of different prefixes cannot touch each other,
// where no prefix begins with another.
type Space struct {
	store  *Store
	prefix string
}

// Under returns the space of the prefix.
func (s *Store) Under(prefix string) *Space { return &Space{s, prefix} }

// Get is [Store.Get] within the space.
func (p *Space) Get(ctx context.Context, key []byte) (value []byte, rev uint64, err error) {
	return p.store.Get(ctx, p.inner(key))
}

// Scan is [Store.Scan] within the space.
func (p *Space) Scan(ctx context.Context, prefix, start []byte, fn func(key, value []byte) (more bool, err error)) error {
	return p.store.Scan(ctx, p.inner(prefix), p.start(start), p.outer(fn))
}

// ScanBack is [Store.ScanBack] within the space.
func (p *Space) ScanBack(ctx context.Context, prefix, start []byte, fn func(key, value []byte) (more bool, err error)) error {
	return p.store.ScanBack(ctx, p.inner(prefix), p.start(start), p.outer(fn))
}

// ScanKeys is [Store.ScanKeys] within the space.
func (p *Space) ScanKeys(ctx context.Context, prefix, start []byte, fn func(key, value []byte) (more bool, err error)) error {
	return p.store.ScanKeys(ctx, p.inner(prefix), p.start(start), p.outer(fn))
}

// Apply is [Store.Apply] within the space.
func (p *Space) Apply(ctx context.Context, expect map[string]uint64, put map[string][]byte, del []string) (applied bool, err error) {
	keys := make([]string, len(del))
	for i, k := range del {
		keys[i] = p.prefix + k
	}
	return p.store.Apply(ctx, prefixed(p.prefix, expect), prefixed(p.prefix, put), keys)
}

// Sync is [Store.Sync].
func (p *Space) Sync(ctx context.Context) error { return p.store.Sync(ctx) }

func (p *Space) inner(key []byte) []byte {
	return append(append(make([]byte, 0, len(p.prefix)+len(key)), p.prefix...), key...)
}

func (p *Space) start(start []byte) []byte {
	if len(start) == 0 {
		return nil
	}
	return p.inner(start)
}

func (p *Space) outer(fn func(key, value []byte) (bool, error)) func(key, value []byte) (bool, error) {
	return func(key, value []byte) (bool, error) { return fn(key[len(p.prefix):], value) }
}

func prefixed[V any](prefix string, in map[string]V) map[string]V {
	out := make(map[string]V, len(in))
	for k, v := range in {
		out[prefix+k] = v
	}
	return out
}
