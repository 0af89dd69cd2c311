package visitors

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"usher/caps"
	"usher/ucan"
)

// Bounds of what is kept of records that were decoded.
const (
	maxRecalled      = 4096     // records
	maxRecalledBytes = 16 << 20 // of them as they are stored
)

// recall keeps what records were decoded to. Each call still reads the bytes of a record: the
// same bytes are the same record, and others are decoded anew, whoever has written them.
type recall[T any] struct {
	mu    sync.Mutex
	of    map[string]memoBox[T]
	bytes int
}

type memoBox[T any] struct {
	raw []byte
	v   *T // nobody changes it
}

// find returns what the bytes of a key were decoded to; nil where nobody did.
func (m *recall[T]) find(key string, raw []byte) *T {
	m.mu.Lock()
	one := m.of[key]
	m.mu.Unlock()
	if one.v == nil || !bytes.Equal(one.raw, raw) {
		return nil
	}
	return one.v
}

// keep keeps what bytes were decoded to; others go for it where there are many.
func (m *recall[T]) keep(key string, raw []byte, v *T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = make(map[string]memoBox[T])
	}
	m.bytes += len(raw) - len(m.of[key].raw)
	m.of[key] = memoBox[T]{raw, v}
	for other, one := range m.of {
		if len(m.of) <= maxRecalled && m.bytes <= maxRecalledBytes {
			return
		}
		m.bytes -= len(one.raw)
		delete(m.of, other)
	}
}

// memo is what a grant is worth, as long as its record is the same bytes.
type memo = atomic.Pointer[worth]

// worth is what a grant gives while it stands.
type worth struct {
	of     *capability // of one configuration
	user   ucan.DID
	until  time.Time
	limits Constraints       // those of the grant and of the configuration
	list   []caps.Capability // that it gives itself; what its operation may do further is of's
}

// remember has an agent's grants remember what they are worth.
func (a *Agent) remember() {
	for i := range a.Grants {
		a.Grants[i].memo = new(memo)
	}
}

// own is a copy of an agent that its reader may change.
func (a *Agent) own() *Agent {
	b := *a
	b.Grants = slices.Clone(a.Grants)
	if a.Ask != nil {
		ask := *a.Ask
		b.Ask = &ask
	}
	return &b
}
