package schema

import (
	"encoding/json"
	"math/big"
)

// part is one schema of a document, ready to be applied. What is not stated is
// nil or zero.
type part struct {
	never bool // false as a schema

	all         []*part // which apply to the same value: $ref first, then allOf
	anyOf       []*part
	oneOf       []*part
	not         *part
	when        *part // if
	then        *part
	otherwise   *part
	refs        bool // the first of all is a $ref
	defaultTo   *any
	types       []string
	values      []values // enum and const
	numbers     []numberBound
	sizes       []sizeBound
	pattern     *pattern
	required    []string
	needs       map[string][]string // dependentRequired
	dependent   map[string]*part
	properties  map[string]*part
	patterns    []patternPart
	additional  *part
	names       *part
	otherFields *part // unevaluatedProperties
	first       []*part
	items       *part
	contains    *part
	least, most int // items that contains has to match; a negative most is no bound
	otherItems  *part
	unique      bool
}

// values are those of which a value has to be one.
type values struct {
	words string
	keys  map[string]bool
}

type patternPart struct {
	pattern *pattern
	part    *part
}

// numberBound is a rule for numbers.
type numberBound struct {
	words string // "at least 5"
	bound *big.Rat
	fits  func(v, bound *big.Rat) bool
}

// sizeBound is a rule for how much there is in a text, an array or an object.
type sizeBound struct {
	kind  string // of the values that it is for
	least bool
	n     int
}

// numberRules are the keywords that bound numbers.
var numberRules = []struct {
	keyword, words string
	fits           func(v, bound *big.Rat) bool
}{
	{"minimum", "at least ", func(v, bound *big.Rat) bool { return v.Cmp(bound) >= 0 }},
	{"maximum", "at most ", func(v, bound *big.Rat) bool { return v.Cmp(bound) <= 0 }},
	{"exclusiveMinimum", "more than ", func(v, bound *big.Rat) bool { return v.Cmp(bound) > 0 }},
	{"exclusiveMaximum", "less than ", func(v, bound *big.Rat) bool { return v.Cmp(bound) < 0 }},
	{"multipleOf", "a multiple of ", func(v, bound *big.Rat) bool { return new(big.Rat).Quo(v, bound).IsInt() }},
}

// sizeRules are the keywords that bound sizes.
var sizeRules = []struct {
	keyword, kind string
	least         bool
}{
	{"minLength", "string", true},
	{"maxLength", "string", false},
	{"minItems", "array", true},
	{"maxItems", "array", false},
	{"minProperties", "object", true},
	{"maxProperties", "object", false},
}

// units are what sizes count.
var units = map[string]string{"string": "characters", "array": "items", "object": "fields"}

func ratOf(n json.Number) *big.Rat {
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		return new(big.Rat) // never: the text was decoded as a number
	}
	return r
}
