package schema

import (
	"context"
	_ "embed"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"usher/caps/value"
)

// drafts are the versions of JSON Schema by what $schema says of them.
var drafts = map[string]int{
	"http://json-schema.org/draft-06/schema":       6,
	"http://json-schema.org/draft-07/schema":       7,
	"https://json-schema.org/draft/2019-09/schema": 2019,
	"https://json-schema.org/draft/2020-12/schema": 2020,
}

// compiler makes the parts of one document. The first error ends its work.
type compiler struct {
	ctx      context.Context
	charge   Charge
	draft    int
	document any
	parts    map[string]*part  // by JSON pointer
	ids      map[string]string // absolute address, or that with #anchor, to JSON pointer
	pending  []func()          // each resolves a $ref
	patterns int               // bytes
	err      error
}

var always, never = new(part), &part{never: true}

// meta is the schema of schemas, of all drafts together.
//
//go:embed meta.json
var meta []byte

// metaPart is the schema that documents are checked against before they are
// compiled. It is the only one that is not.
var metaPart = sync.OnceValue(func() *part {
	document, err := value.Decode(meta, maxDepth)
	if err != nil {
		panic(err)
	}
	p, err := compile(context.Background(), document, nil)
	if err != nil {
		panic(err)
	}
	return p
})

// compile makes the part of a document, of draft 2020-12 where it does not say otherwise.
func compile(ctx context.Context, document any, charge Charge) (*part, error) {
	c := &compiler{ctx: ctx, charge: charge, draft: 2020, document: document, parts: make(map[string]*part), ids: make(map[string]string)}
	if said, ok := value.At(document, "$schema"); ok {
		name, _ := said.(string)
		name = strings.Replace(strings.TrimSuffix(name, "#"), "https://json-schema.org/draft-", "http://json-schema.org/draft-", 1)
		if c.draft = drafts[name]; c.draft == 0 {
			return nil, fmt.Errorf(`it is written for %s, which is not known: leave $schema out, or write "https://json-schema.org/draft/2020-12/schema"`, value.Show(said))
		}
	}
	base := &url.URL{Scheme: "schema", Path: "/document"}
	c.ids[base.String()] = ""
	root := c.part(document, "", base)
	for len(c.pending) > 0 && c.err == nil {
		resolve := c.pending[0]
		c.pending = c.pending[1:]
		resolve()
	}
	return root, c.err
}

func (c *compiler) fail(at, format string, args ...any) {
	if c.err == nil {
		c.err = &Error{[]Violation{{pointerPlace(at), fmt.Sprintf(format, args...)}}}
	}
}

// part compiles the schema at a JSON pointer.
func (c *compiler) part(raw any, at string, base *url.URL) *part {
	m, ok := raw.(map[string]any)
	switch {
	case raw == false:
		return never
	case !ok || c.err != nil:
		return always
	case c.parts[at] != nil:
		return c.parts[at]
	case len(c.parts) == maxParts:
		c.fail(at, "there are more than %d schemas: write fewer", maxParts)
		return always
	}
	p := &part{raw: m}
	c.parts[at] = p
	if len(c.parts)%unit == 0 {
		c.pay(1, 0)
	}
	c.fill(p, at, c.identify(m, at, base))
	return p
}

// pay charges for steps, or for a pattern.
func (c *compiler) pay(steps, patterns int) {
	if c.patterns += patterns; c.patterns > maxPatterns {
		c.err = fmt.Errorf("its patterns take more than %d bytes: write fewer or smaller ones", maxPatterns)
	}
	if c.err == nil {
		c.err = pay(c.ctx, c.charge, steps, patterns)
	}
}

func pay(ctx context.Context, charge Charge, steps, patterns int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if charge == nil {
		return nil
	}
	return charge(ctx, int64(steps), int64(patterns))
}

// identify notes the names that a schema gives itself, and returns its base.
func (c *compiler) identify(raw map[string]any, at string, base *url.URL) *url.URL {
	if _, ref := raw["$ref"]; ref && c.draft <= 7 {
		return base // which hides what stands beside it
	}
	if id, ok := raw["$id"].(string); ok {
		u, err := base.Parse(id)
		if err != nil {
			c.fail(at+"/$id", "%v", err)
			return base
		}
		if u.Fragment == "" {
			base = u
		}
		c.ids[strings.TrimSuffix(u.String(), "#")] = at
	}
	for _, name := range []string{"$anchor", "$dynamicAnchor"} {
		if anchor, ok := raw[name].(string); ok && c.draft >= 2019 {
			u := *base
			u.Fragment = anchor
			c.ids[u.String()] = at
		}
	}
	return base
}

func (c *compiler) resolve(ref string, base *url.URL) *part {
	u, err := base.Parse(ref)
	if err != nil {
		c.err = fmt.Errorf("$ref %q: %w", ref, err)
		return nil
	}
	if at, ok := c.ids[u.String()]; ok {
		return c.at(at, u)
	}
	pointer := u.Fragment
	u.Fragment, u.RawFragment = "", ""
	start, ok := c.ids[u.String()]
	if !ok {
		c.err = fmt.Errorf("it refers to %q, which is not part of it: copy what it needs below $defs and write #/$defs/<name>",
			strings.TrimPrefix(u.String(), "schema:///"))
		return nil
	}
	if pointer != "" && pointer[0] != '/' {
		c.err = fmt.Errorf("it refers to #%s, but has no such $anchor", pointer)
		return nil
	}
	return c.at(start+pointer, u)
}

// at compiles what a pointer leads to, if that is not done yet.
func (c *compiler) at(pointer string, base *url.URL) *part {
	if known := c.parts[pointer]; known != nil {
		return known
	}
	v, found := value.At(c.document, value.Keys(pointer)...)
	if !found {
		c.err = fmt.Errorf("it refers to #%s, where nothing is", pointer)
		return nil
	}
	if kind := value.Kind(v); kind != "object" && kind != "boolean" {
		c.fail(pointer, "expected a schema, an object or true or false, got %s", kind)
	}
	return c.part(v, pointer, base)
}
