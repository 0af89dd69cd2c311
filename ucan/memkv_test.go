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
	mu   sync.Mutex
	data map[string]memValue
	keys []string // sorted; nil after a change
	last uint64
	fail error // returned by Apply, when set

	listed func() // called once after keys were listed, when set
}

type memValue struct {
	value []byte
	rev   uint64
}

var _ KV = (*memKV)(nil)

func newMemKV() *memKV { return &memKV{data: map[string]memValue{}} }

func (m *memKV) Get(_ context.Context, key string) ([]byte, uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.data[key]
	return bytes.Clone(v.value), v.rev, nil
}

func (m *memKV) PageKeys(_ context.Context, prefix, from string, limit int) (keys []string, next string, err error) {
	m.mu.Lock()
	if m.keys == nil {
		m.keys = slices.Sorted(maps.Keys(m.data))
	}
	all, listed := m.keys, m.listed
	m.listed = nil
	m.mu.Unlock()
	if listed != nil {
		defer listed()
	}
	first, _ := slices.BinarySearch(all, max(prefix, from))
	for _, k := range all[first:] {
		if !strings.HasPrefix(k, prefix) {
			break
		}
		if len(keys) == limit {
			return keys, k, nil
		}
		keys = append(keys, k)
	}
	return keys, "", nil
}

func (m *memKV) Apply(_ context.Context, expect map[string]uint64, put map[string][]byte, del []string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return "", m.fail
	}
	for k, rev := range expect {
		if m.data[k].rev != rev {
			return k, nil
		}
	}
	m.last++
	m.keys = nil
	for k, v := range put {
		m.data[k] = memValue{bytes.Clone(v), m.last}
	}
	for _, k := range del {
		delete(m.data, k)
	}
	return "", nil
}

func (m *memKV) size() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.data)
}
