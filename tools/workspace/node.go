package workspace

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

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

// kind is the first byte of a stored node.
type kind byte

const (
	leafKind   kind = 'j' // followed by compact JSON
	mapKind    kind = 'm' // followed by the branch's id
	vectorKind kind = 'v' // followed by the branch's id
)

// node is what an entry holds.
type node struct {
	kind kind
	leaf []byte   // of leafKind
	id   branchID // of the others
}

func (n node) encode() []byte {
	if n.kind == leafKind {
		return append([]byte{byte(leafKind)}, n.leaf...)
	}
	return append([]byte{byte(n.kind)}, n.id[:]...)
}

var errBadNode = errors.New("the stored entry is damaged")

// decodeNode reads a node; its leaf is part of data.
func decodeNode(data []byte) (node, error) {
	if len(data) < 2 {
		return node{}, errBadNode
	}
	n, rest := node{kind: kind(data[0])}, data[1:]
	switch {
	case n.kind == leafKind:
		n.leaf = rest
		return n, nil
	case (n.kind == mapKind || n.kind == vectorKind) && len(rest) == len(n.id):
		n.id = branchID(rest)
		return n, nil
	}
	return node{}, errBadNode
}

// leafOf is the leaf of a decoded value.
func leafOf(v any) node { return node{kind: leafKind, leaf: value.Append(nil, v)} }

// stored reports whether the node's content stands in entries of its own.
func (n node) stored() bool { return n.kind != leafKind }

// container reports whether paths go on below the node.
func (n node) container() bool { return n.isVector() || n.typeName() == "Map" }

// isVector reports whether the node is an array, stored in either way.
func (n node) isVector() bool { return n.typeName() == "Vector" }

// typeName is the name of the node's type in operation outputs.
func (n node) typeName() string {
	first := byte(n.kind)
	if !n.stored() {
		first = n.leaf[0]
	}
	switch first {
	case byte(mapKind), '{':
		return "Map"
	case byte(vectorKind), '[':
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
