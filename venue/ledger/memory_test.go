package ledger

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"usher/venue/store"
)

type record = store.Row

// memory is a store whose bytes a test can change behind the ledger's back, and
// whose answers it can lose.
type memory struct {
	mu    sync.Mutex
	rows  map[string]record
	rev   uint64
	calls int // of Apply

	before func(put map[string][]byte) error // of Apply; an error refuses it
	after  func() error                      // of Apply; an error loses its answer
}

var _ Store = (*memory)(nil)

func newMemory() *memory { return &memory{rows: make(map[string]record)} }

func (m *memory) Get(_ context.Context, key string) ([]byte, uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	row := m.rows[key]
	return slices.Clone(row.Value), row.Rev, nil
}

func (m *memory) Page(_ context.Context, prefix, from string, limit int) ([]record, string, error) {
	return m.page(limit, m.keys(func(key string) bool { return strings.HasPrefix(key, prefix) && key >= from }))
}

func (m *memory) PageBack(_ context.Context, prefix, from string, limit int) ([]record, string, error) {
	keys := m.keys(func(key string) bool { return strings.HasPrefix(key, prefix) && (from == "" || key <= from) })
	slices.Reverse(keys)
	return m.page(limit, keys)
}

func (m *memory) keys(which func(string) bool) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []string
	for key := range m.rows {
		if which(key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func (m *memory) page(limit int, keys []string) (page []record, next string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range keys {
		if len(page) == limit {
			return page, key, nil
		}
		row := m.rows[key]
		row.Value = slices.Clone(row.Value)
		page = append(page, row)
	}
	return page, "", nil
}

func (m *memory) Apply(_ context.Context, expect map[string]uint64, put map[string][]byte, del []string) (string, error) {
	m.mu.Lock()
	before, after := m.before, m.after
	m.mu.Unlock()
	if before != nil {
		if err := before(put); err != nil {
			return "", err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	for key, rev := range expect {
		if m.rows[key].Rev != rev {
			return key, nil
		}
	}
	for key, value := range put {
		m.rev++
		m.rows[key] = record{Key: key, Value: slices.Clone(value), Rev: m.rev}
	}
	for _, key := range del {
		delete(m.rows, key)
	}
	if after != nil {
		return "", after()
	}
	return "", nil
}

// hook has something happen before and after each Apply.
func (m *memory) hook(before func(map[string][]byte) error, after func() error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before, m.after = before, after
}

// Snapshot is a copy.
func (m *memory) Snapshot(context.Context) (store.Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return frozen{&memory{rows: maps.Clone(m.rows)}}, nil
}

type frozen struct{ *memory }

func (frozen) Close() {}

func (frozen) PageKeys(context.Context, string, string, int) ([]string, string, error) {
	panic("nobody asks for keys alone")
}

// copied is a store with the same bytes.
func (m *memory) copied(t testing.TB) *memory {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	return &memory{rows: maps.Clone(m.rows), rev: m.rev}
}
