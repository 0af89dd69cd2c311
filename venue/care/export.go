package care

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"usher/tools/workspace"
	"usher/ucan"
	"usher/venue/ledger"
	"usher/venue/store"
	"usher/venue/store/journal"
)

// line is a line of an export. What it has depends on its kind.
type line struct {
	Kind    string          `json:"kind"`
	Owner   string          `json:"owner,omitempty"`
	ID      string          `json:"id,omitempty"`
	Of      string          `json:"of,omitempty"` // of what is below something else: that one's id
	Path    string          `json:"path,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"`
	Text    string          `json:"text,omitempty"`
	Updated int64           `json:"updated,omitempty"` // ms
}

// Export writes down what is the user's in a data folder, which it opens for reading
// only, as lines of JSON; README.md has the kinds. Secrets are written by their names,
// keys by the identities that they make. It returns how many lines there are of each
// kind.
func Export(ctx context.Context, dir string, out io.Writer) (lines map[string]int, err error) {
	e := &export{ctx: ctx, out: bufio.NewWriter(out), lines: make(map[string]int)}
	e.json = json.NewEncoder(e.out)
	e.json.SetEscapeHTML(false) // the rows of the ledger stay as they were hashed
	err = readFolder(dir, func(j *journal.Journal) error {
		e.from = j
		return e.all()
	})
	return e.lines, errors.Join(err, e.out.Flush())
}

// export is one that is being written.
type export struct {
	ctx   context.Context
	from  *journal.Journal
	out   *bufio.Writer
	json  *json.Encoder
	lines map[string]int
}

func (e *export) write(l line) error {
	e.lines[l.Kind]++
	return e.json.Encode(l)
}

func (e *export) all() error {
	did, err := venueIn(e.ctx, e.from)
	if err != nil {
		return err
	}
	if err := e.write(line{Kind: "venue", ID: did.String()}); err != nil {
		return err
	}
	for _, k := range kinds {
		if err := e.below(k); err != nil {
			return err
		}
	}
	if err := each(ledger.Texts(e.ctx, e.from.Store), func(row []byte) error {
		return e.write(line{Kind: "ledger", Value: row})
	}); err != nil {
		return err
	}
	return e.tokens()
}

// kind is what lies below a prefix of the store, and how its lines are made.
type kind struct {
	prefix string
	line   func(e *export, key string, value []byte) error
}

// kinds has what is read row by row.
var kinds = []kind{
	{"k/user/", (*export).user},
	{"k/agent/", (*export).namespaces},
	{"g/rec/", byOwner("agent")},
	{"r/run/", withoutAuthority("run", 0)},
	{"r/log/", byNumber("step")},
	{"r/head/", below("session")},
	{"r/ses/", byNumber("event")},
	{"e/rec/", withoutAuthority("schedule", 0)},
	{"e/done/", withoutAuthority("schedule", 1)},
	{"b/", func(e *export, key string, value []byte) error {
		return e.write(line{Kind: "spent", ID: key, Value: value})
	}},
	{"c/", (*export).application},
	{"mcp/", byOwner("mcp")},
	{"s/", (*export).secret},
	{"l/sign/", func(e *export, _ string, value []byte) error {
		return e.write(line{Kind: "checkpoint", Text: string(value)})
	}},
}

func (e *export) below(k kind) error {
	for row, err := range store.Rows(e.ctx, e.from, k.prefix, "") {
		if err == nil {
			err = k.line(e, row.Key[len(k.prefix):], row.Value)
		}
		if err != nil {
			return fmt.Errorf("export %q: %w", row.Key, err)
		}
	}
	return nil
}

// byOwner is of keys "<owner>/<id>".
func byOwner(kind string) func(*export, string, []byte) error {
	return func(e *export, key string, value []byte) error {
		owner, id, _ := strings.Cut(key, "/")
		return e.write(line{Kind: kind, Owner: owner, ID: id, Value: value})
	}
}

// below is of keys "<of>/<id>", where of may have slashes.
func below(kind string) func(*export, string, []byte) error {
	return func(e *export, key string, value []byte) error {
		i := max(strings.LastIndexByte(key, '/'), 0)
		return e.write(line{Kind: kind, Of: key[:i], ID: key[i+1:], Value: value})
	}
}

// byNumber is of keys "<of>/<number in eight bytes>".
func byNumber(kind string) func(*export, string, []byte) error {
	return func(e *export, key string, value []byte) error {
		return e.write(line{Kind: kind, Of: key[:max(0, len(key)-9)], Value: value})
	}
}

// identity is what may be told of a key.
type identity struct {
	DID ucan.DID `json:"did"`
}

func (e *export) user(name string, value []byte) error {
	var id identity
	if err := json.Unmarshal(value, &id); err != nil {
		return err
	}
	if err := e.write(line{Kind: "user", ID: id.DID.String(), Text: name}); err != nil {
		return err
	}
	return e.workspace(id.DID)
}

// namespaces are those of agents with an identity of their own.
func (e *export) namespaces(_ string, value []byte) error {
	var id identity
	if err := json.Unmarshal(value, &id); err != nil {
		return err
	}
	return e.workspace(id.DID)
}

func (e *export) workspace(owner ucan.DID) error {
	tree := workspace.NewTree(e.from.Under("w/"), &workspace.Options{ReadOnly: true})
	for _, namespace := range []string{"w", "o"} {
		for p, err := range tree.Walk(e.ctx, owner.String(), namespace) {
			if err == nil {
				err = e.write(line{Kind: "value", Owner: owner.String(), Path: strings.Join(p.Path, "/"), Value: p.Value})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// withoutAuthority is of records with an authority, which is the venue's own and left out. The
// keys are those of [byOwner], with so many parts between the owner and the id.
func withoutAuthority(kind string, between int) func(*export, string, []byte) error {
	return func(e *export, key string, value []byte) error {
		var rec map[string]json.RawMessage
		if err := json.Unmarshal(value, &rec); err != nil {
			return err
		}
		delete(rec, "authority")
		raw, err := json.Marshal(rec)
		if err != nil {
			return err
		}
		parts := strings.Split(key, "/")
		return e.write(line{Kind: kind, Owner: parts[0], ID: strings.Join(parts[1+between:], "/"), Value: raw})
	}
}

// application is an entry of the configuration as it was applied last.
func (e *export) application(key string, value []byte) error {
	owner, name, _ := strings.Cut(key, "/")
	if !json.Valid(value) {
		return e.write(line{Kind: "applied", Owner: owner, ID: name, Text: string(value)})
	}
	return e.write(line{Kind: "applied", Owner: owner, ID: name, Value: value})
}

func (e *export) secret(key string, value []byte) error {
	var sealed struct{ Updated int64 }
	if err := json.Unmarshal(value, &sealed); err != nil {
		return err
	}
	owner, name, _ := strings.Cut(key, "/")
	return e.write(line{Kind: "secret", Owner: owner, ID: name, Updated: sealed.Updated})
}

func (e *export) tokens() error {
	tokens, err := ucan.OpenStore(e.ctx, e.from.Under("t/"))
	if err != nil {
		return err
	}
	if err := each(tokens.All(e.ctx), func(l *ucan.Link) error {
		return e.write(line{Kind: "token", ID: l.CID.String(), Text: l.Text()})
	}); err != nil {
		return err
	}
	return each(tokens.AllRevocations(e.ctx), func(r *ucan.Revocation) error {
		return e.write(line{Kind: "revocation", ID: r.Target.String(), Text: r.Text()})
	})
}

func each[T any](all iter.Seq2[T, error], do func(T) error) error {
	for one, err := range all {
		if err == nil {
			err = do(one)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
