package store

// Engine keeps the bytes of a [Store], which checks the bounds of every call first and makes none
// after Close. Everything else is safe for concurrent use. Values that an engine is given are not
// changed any more, and those that it returns are copies; the batch itself is the caller's.
type Engine interface {
	View
	// Apply carries the batch out whole or not at all. It returns the key of an expectation that
	// does not hold, with nothing written; an error that wraps [ErrUnknown] when it cannot tell
	// whether the batch was written; any other error when it was not. What it has written survives a
	// loss of power, where the engine has a disk.
	Apply(batch []Op) (moved string, err error)
	// Snapshot returns a view of this moment. Whoever opens it ends it.
	Snapshot() EngineSnapshot
	// Close ends what runs in the background.
	Close() error
}

// View reads what an engine keeps.
type View interface {
	// Get returns a value and its revision: nil and 0 where there is none.
	Get(key string) (value []byte, rev uint64, err error)
	Page(walk Walk) (rows []Row, next string, err error)
}

// EngineSnapshot is a view of one moment.
type EngineSnapshot interface {
	View
	// End gives free what the snapshot holds. It is called once, and not after the engine's Close.
	End()
}

// Walk says which rows a page has. Those below From are left out, and so are those above it when
// the walk goes back. An engine ends a page after Limit rows, or once keys and values exceed
// [MaxPageBytes], and says with which key the next one begins: "" where nothing follows.
type Walk struct {
	Prefix string
	From   string // "": the first key of the prefix, or the last one when the walk goes back
	Limit  int    // 1 or more
	Back   bool
	Keys   bool // leave the values out
}

// Op is one part of a batch. A batch has each key at most twice: once in an expectation, and once
// in a put or a delete.
type Op struct {
	Kind  OpKind
	Key   string
	Rev   uint64 // of an expectation
	Value []byte // of a put
}

// OpKind says what an [Op] does.
type OpKind uint8

// An expectation says at which revision its key must be: 0 for none.
const (
	OpExpect OpKind = iota + 1
	OpPut
	OpDelete
)

// VersionRow is a put or a delete at its version, of an index of a journal.
type VersionRow struct {
	Op
	Version uint64
}

// Row is a key, its value and its revision. Its type has no name of its own, and that of [Snapshot]
// has none either, so that packages below venue can declare interfaces that a [Space] satisfies.
type Row = struct {
	Key   string
	Value []byte
	Rev   uint64
}

// MaxPageBytes is the size of keys and values after which a page ends before its limit.
const MaxPageBytes = 1 << 20

// IsFull reports whether a page with so many rows and bytes ends before the next row.
func (w Walk) IsFull(rows, size int) bool { return rows >= w.Limit || size >= MaxPageBytes }

// After returns the first key that follows every key with this prefix; "" when none can.
func After(prefix string) string {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < 0xff {
			return prefix[:i] + string([]byte{prefix[i] + 1})
		}
	}
	return ""
}
