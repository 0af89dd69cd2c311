package ucan

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
)

// memKV is the obvious KV: what the store needs, without a disk.
type memKV struct {
	mu    sync.Mutex
	data  map[string]memValue
	last  uint64
	syncs int
	fail  error // returned by Apply, when set
	stuck error // returned by Sync, when set

	scanned func() // called at the end of Scan, when set
}

type memValue struct {
	value []byte
	rev   uint64
}

var _ KV = (*memKV)(nil)

func newMemKV() *memKV { return &memKV{data: map[string]memValue{}} }

func (m *memKV) Get(_ context.Context, key []byte) ([]byte, uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.data[string(key)]
	return bytes.Clone(v.value), v.rev, nil
}

func (m *memKV) Scan(_ context.Context, prefix, start []byte, fn func(key, value []byte) (bool, error)) error {
	m.mu.Lock()
	data := maps.Clone(m.data)
	m.mu.Unlock()
	for _, k := range slices.Sorted(maps.Keys(data)) {
		if !strings.HasPrefix(k, string(prefix)) || k < string(start) {
			continue
		}
		if more, err := fn([]byte(k), data[k].value); err != nil || !more {
			return err
		}
	}
	if m.scanned != nil {
		m.scanned()
	}
	return nil
}

func (m *memKV) Apply(_ context.Context, expect map[string]uint64, put map[string][]byte, del []string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return false, m.fail
	}
	for k, rev := range expect {
		if m.data[k].rev != rev {
			return false, nil
		}
	}
	m.last++
	for k, v := range put {
		m.data[k] = memValue{bytes.Clone(v), m.last}
	}
	for _, k := range del {
		delete(m.data, k)
	}
	return true, nil
}

func (m *memKV) Sync(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.syncs++
	return m.stuck
}

func (m *memKV) size() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.data)
}
