package ucan_test

import (
	"bytes"
	stded25519 "crypto/ed25519"
	"slices"
	"testing"

	"github.com/ipld/go-ipld-prime/codec/dagcbor"
	"github.com/ipld/go-ipld-prime/datamodel"
	"github.com/ipld/go-ipld-prime/node/basicnode"
	"github.com/ucan-wg/go-ucan/token/delegation"
	"pgregory.net/rapid"

	"usher/ucan"
)

// node makes a value IPLD's; maps come as pairs, so that a key may be missing.
func node(t failer, v any) datamodel.Node {
	t.Helper()
	nb := basicnode.Prototype.Any.NewBuilder()
	if err := assemble(nb, v); err != nil {
		t.Fatal(err)
	}
	return nb.Build()
}

func assemble(to datamodel.NodeAssembler, v any) error {
	switch v := v.(type) {
	case nil:
		return to.AssignNull()
	case bool:
		return to.AssignBool(v)
	case string:
		return to.AssignString(v)
	case int:
		return to.AssignInt(int64(v))
	case float64:
		return to.AssignFloat(v)
	case []byte:
		return to.AssignBytes(v)
	case []any:
		list, err := to.BeginList(int64(len(v)))
		if err != nil {
			return err
		}
		for _, item := range v {
			if err := assemble(list.AssembleValue(), item); err != nil {
				return err
			}
		}
		return list.Finish()
	case map[string]any:
		m, err := to.BeginMap(int64(len(v)))
		if err != nil {
			return err
		}
		for key, item := range v {
			entry, err := m.AssembleEntry(key)
			if err != nil {
				return err
			}
			if err := assemble(entry, item); err != nil {
				return err
			}
		}
		return m.Finish()
	}
	panic("a value of another type")
}

func encoded(t failer, n datamodel.Node) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := dagcbor.Encode(n, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestTheyReadWhatWeRead signs delegations of every shape, many of them wrong:
// what is read here is read there, and every field is the same.
func TestTheyReadWhatWeRead(t *testing.T) {
	people := []person{newPerson(t, "alice"), newPerson(t, "bob"), newPerson(t, "carol")}
	read, refused := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		iss := rapid.SampledFrom(people).Draw(rt, "iss")
		payload := map[string]any{
			"iss": iss.key.DID().String(), "aud": rapid.SampledFrom(people).Draw(rt, "aud").key.DID().String(),
			"sub": rapid.SampledFrom(people).Draw(rt, "sub").key.DID().String(),
			"cmd": rapid.SampledFrom([]string{"/", "/crud", "/crud/read", "/x-y/z_1"}).Draw(rt, "cmd"),
			"pol": rapid.SliceOfN(statements(2), 0, 3).Draw(rt, "pol"),
			"exp": 4102444800, "nonce": make([]byte, 12),
		}
		for _, odd := range rapid.SliceOfN(rapid.SampledFrom(oddities), 0, 2).Draw(rt, "odd") {
			payload[odd.field] = odd.value
			if odd.value == gone {
				delete(payload, odd.field)
			}
		}
		signed := encoded(rt, node(rt, map[string]any{
			"h": []byte{0x34, 0x01, 0xed, 0x01, 0xed, 0x01, 0x13, 0x71}, delegation.Tag: payload,
		}))
		raw := append(append([]byte{0x82, 0x58, stded25519.SignatureSize}, iss.key.Sign(signed)...), signed...)
		l, err := ucan.Open(raw)
		if err != nil {
			refused++
			return
		}
		read++
		d, id, err := delegation.FromSealed(raw)
		if err != nil {
			rt.Fatalf("we read %v, they refuse it: %v", payload, err)
		}
		theirs, err := d.Policy().ToIPLD()
		if err != nil {
			rt.Fatal(err)
		}
		var can string
		for _, c := range l.Capabilities() {
			can = "/" + string(c.Can())
		}
		if can == "/*" {
			can = "/"
		}
		exp, nbf := l.Expires(), l.NotBefore()
		same := id.String() == l.CID.String() && d.Issuer().String() == l.Issuer.String() &&
			d.Audience().String() == l.Audience.String() && d.Subject().String() == l.Subject.String() &&
			d.Command().String() == can && bytes.Equal(encoded(rt, theirs), encoded(rt, node(rt, payload["pol"]))) &&
			exp.IsZero() == (d.Expiration() == nil) && (exp.IsZero() || exp.Equal(*d.Expiration())) &&
			(nbf.IsZero() || d.NotBefore() != nil && nbf.Equal(*d.NotBefore()))
		if !same {
			rt.Fatalf("of %v we read %v, they %v", payload, l, d.Policy())
		}
	})
	if read == 0 || refused == 0 {
		t.Errorf("%d read, %d refused: the tokens are too much alike to compare anything", read, refused)
	}
}

// gone leaves a field out.
var gone any = new(int)

// oddities are fields as somebody else could write them.
var oddities = []struct {
	field string
	value any
}{
	{"nbf", 5},
	{"nbf", -1},
	{"nbf", nil},
	{"exp", nil},
	{"exp", 1},
	{"exp", 1.5},
	{"exp", gone},
	{"meta", map[string]any{}},
	{"meta", map[string]any{"a": []any{nil, 1.5, map[string]any{"b": nil}}}},
	{"meta", map[string]any{"a": nil}},
	{"meta", []any{}},
	{"meta", nil},
	{"nonce", make([]byte, 11)},
	{"nonce", make([]byte, 200)},
	{"nonce", gone},
	{"sub", nil},
	{"sub", gone},
	{"aud", "did:web:example.org"},
	{"cmd", "/crud/"},
	{"cmd", "crud"},
	{"pol", nil},
	{"pol", []any{"x"}},
	{"ext", 1},
}

// statements draws policies, some of which nobody reads.
func statements(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		sel := rapid.SampledFrom(selectors).Draw(t, "selector")
		ops := []string{"==", "!=", "<", ">=", "like", "resource"}
		if depth > 0 {
			ops = append(ops, "not", "and", "or", "all", "any")
		}
		switch op := rapid.SampledFrom(ops).Draw(t, "operator"); op {
		case "like":
			return []any{op, sel, rapid.SampledFrom([]string{"", "*", "a*b", `a\*`, "w/*"}).Draw(t, "pattern")}
		case "not":
			return []any{op, statements(depth-1).Draw(t, op)}
		case "and", "or":
			return []any{op, slices.Clone(rapid.SliceOfN(statements(depth-1), 0, 2).Draw(t, op))}
		case "all", "any":
			return []any{op, sel, statements(depth-1).Draw(t, op)}
		case "resource":
			r := "did:key:z6MkmT9j6fVZqzXV8u2wVVSu49gYSRYGSQnduWXF6foAJrqz/w/x"
			return []any{"or", []any{[]any{"==", ".with", r}, []any{"like", ".with", r + "/*"}}}
		default:
			return []any{op, sel, rapid.SampledFrom([]any{nil, true, 1, 1.5, "x", []byte{1}, []any{1}, map[string]any{"k": 1}}).Draw(t, "operand")}
		}
	})
}

var selectors = []string{".", ".with", ".a.b", ".a[0]", ".a[-1]", ".a[]", `.["k"]`, ".a?", ".a[1:2]", "a", ".é", ".a$", "[]", ".[0]", ".a.[0]"}
