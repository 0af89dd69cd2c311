package workspace

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"usher/caps/value"
)

// branchID names a branch in the store.
type branchID [16]byte

// rootID is the id of an owner's namespace.
func rootID(owner, namespace string) branchID {
	sum := sha256.Sum256([]byte("usher workspace\x00" + owner + "\x00" + namespace))
	return branchID(sum[:16])
}

func newID() (id branchID) {
	_, _ = rand.Read(id[:]) // never fails: crypto/rand ends the program instead
	return id
}

// node is what an entry holds: compact JSON, which is a leaf, or a kind and the id of a branch.
type node []byte

const (
	mapKind    = 'm'
	vectorKind = 'v'
)

func branchOf(kind byte, id branchID) node { return append(node{kind}, id[:]...) }

// leafOf is the leaf of a decoded value.
func leafOf(v any) node { return value.Append(nil, v) }

var errBadNode = errors.New("the stored entry is damaged")

// decodeNode checks what a node can tell by itself. The node is data.
func decodeNode(data []byte) (node, error) {
	n := node(data)
	if len(n) == 0 || n.isStored() && len(n) != 1+len(branchID{}) || !n.isStored() && strings.IndexByte(`{["tfn-0123456789`, n[0]) < 0 {
		return nil, errBadNode
	}
	return n, nil
}

// isStored reports whether the node's content stands in entries of its own.
func (n node) isStored() bool { return n[0] == mapKind || n[0] == vectorKind }

// id is that of the branch, of a node that is stored.
func (n node) id() branchID { return branchID(n[1:]) }

// container reports whether paths go on below the node.
func (n node) container() bool { return n.isVector() || n.typeName() == "Map" }

// isVector reports whether the node is an array, stored in either way.
func (n node) isVector() bool { return n[0] == vectorKind || n[0] == '[' }

// typeName is the name of the node's type in operation outputs.
func (n node) typeName() string {
	switch n[0] {
	case mapKind, '{':
		return "Map"
	case vectorKind, '[':
		return "Vector"
	case '"':
		return "String"
	case 't', 'f':
		return "Boolean"
	case 'n':
		return "Null"
	}
	return "Number"
}

func entryPrefix(id branchID) string { return "d" + string(id[:]) }
func countKey(id branchID) string    { return "n" + string(id[:]) }
func markerKey(id branchID) string   { return "x" + string(id[:]) }

const (
	markerPrefix = "x"
	prefixLen    = 1 + len(branchID{})
	// maxKey bounds the keys of stored maps; a store has a bound of 2 KiB for its keys.
	maxKey = 2000
)

// entryKey is the key of a map's entry.
func entryKey(id branchID, segment string) string {
	b := make([]byte, 0, prefixLen+len(segment))
	return string(append(append(append(b, 'd'), id[:]...), segment...))
}

// elementKey is the key of an array's entry.
func elementKey(id branchID, index int) string {
	return string(binary.BigEndian.AppendUint64([]byte(entryPrefix(id)), uint64(index)))
}

func encodeCount(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

func decodeCount(data []byte) (int, error) {
	if len(data) == 0 {
		return 0, nil
	}
	n, read := binary.Uvarint(data)
	if read != len(data) {
		return 0, fmt.Errorf("read count: %w", errBadNode)
	}
	return int(n), nil
}
