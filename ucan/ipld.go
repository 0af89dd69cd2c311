package ucan

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/ipfs/go-cid"
	"github.com/ipld/go-ipld-prime/datamodel"
	cidlink "github.com/ipld/go-ipld-prime/linking/cid"
	"github.com/ipld/go-ipld-prime/node/basicnode"
)

// nodeOf makes a Go value IPLD's, for go-ucan: nil, bool, string, int, int64,
// float64, []byte, CID, link, []any and map[string]any. go-ucan's own conversion
// panics on null and does not know our links. depth bounds the nesting.
func nodeOf(v any, depth int) (datamodel.Node, error) {
	nb := basicnode.Prototype.Any.NewBuilder()
	if err := assemble(nb, v, depth); err != nil {
		return nil, err
	}
	return nb.Build(), nil
}

func assemble(to datamodel.NodeAssembler, v any, depth int) error {
	if depth <= 0 {
		return fmt.Errorf("%w: values are nested more than %d deep", ErrTooDeep, maxNesting)
	}
	switch v := v.(type) {
	case nil:
		return to.AssignNull()
	case bool:
		return to.AssignBool(v)
	case string:
		if !utf8.ValidString(v) {
			return errors.New("a text is not UTF-8")
		}
		return to.AssignString(v)
	case []byte:
		return to.AssignBytes(v)
	case CID:
		return assembleLink(to, v.Bytes())
	case link:
		return assembleLink(to, []byte(v))
	case int:
		return assemble(to, int64(v), depth)
	case int64:
		if v > maxInt53 || v < -maxInt53 {
			return fmt.Errorf("integer %d is beyond 53 bits", v)
		}
		return to.AssignInt(v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return errors.New("a float is not a number")
		}
		return to.AssignFloat(v)
	case []any:
		list, err := to.BeginList(int64(len(v)))
		if err != nil {
			return err
		}
		for _, item := range v {
			if err := assemble(list.AssembleValue(), item, depth-1); err != nil {
				return err
			}
		}
		return list.Finish()
	case map[string]any:
		return assembleMap(to, v, depth)
	}
	return fmt.Errorf("a value of type %T has no place in a token", v)
}

// assembleMap keeps the keys in the order of DAG-CBOR, in which go-ucan reads
// those of a policy: it takes two maps for unequal if their orders differ.
func assembleMap(to datamodel.NodeAssembler, m map[string]any, depth int) error {
	entries, err := to.BeginMap(int64(len(m)))
	if err != nil {
		return err
	}
	for _, key := range sortedKeys(m) {
		if !utf8.ValidString(key) {
			return errors.New("a key is not UTF-8")
		}
		entry, err := entries.AssembleEntry(key)
		if err != nil {
			return err
		}
		if err := assemble(entry, m[key], depth-1); err != nil {
			return fmt.Errorf("%s: %w", quoteShort(key), err)
		}
	}
	return entries.Finish()
}

func assembleLink(to datamodel.NodeAssembler, b []byte) error {
	c, err := cid.Cast(b)
	if err != nil {
		return fmt.Errorf("a link does not hold a CID: %w", err)
	}
	return to.AssignLink(cidlink.Link{Cid: c})
}
