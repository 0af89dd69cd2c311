package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"usher/caps"
	"usher/caps/value"
	"usher/tools"
	"usher/tools/fault"
	"usher/ucan"
)

// authorsKey is where it is kept who wrote what lies at a name below o/.
func authorsKey(owner, name string) string { return "a" + owner + "/" + name }

// Authors returns who wrote what lies at r, below o/: all who wrote a part of its
// name since that was last written whole. rev is that of the record, 0 where there
// is none and the owner of the namespace is the author.
func (t *Tree) Authors(ctx context.Context, owner string, r caps.Resource) (author tools.Author, rev uint64, err error) {
	owner, segs, err := locateKey(owner, r)
	if err != nil || segs[0] != "o" {
		return author, 0, err
	}
	at, err := t.look(ctx)
	if err != nil {
		return author, 0, err
	}
	defer at.close()
	return at.authors(ctx, owner, segs[1])
}

func (v view) authors(ctx context.Context, owner, name string) (author tools.Author, rev uint64, err error) {
	raw, rev, err := v.get(ctx, authorsKey(owner, name))
	if err != nil || raw == nil {
		return author, rev, err
	}
	if err := json.Unmarshal(raw, &author); err != nil {
		return author, rev, fmt.Errorf("read who wrote o/%s: %w", name, err)
	}
	return author, rev, nil
}

// ownerAuthor is who wrote what nobody signed: the owner of the namespace.
func ownerAuthor(owner string) (author tools.Author) {
	if did, err := ucan.ParseDID(owner); err == nil {
		author.As = []ucan.DID{did}
	}
	return author
}

// writers is authors, by name also where nobody signed.
func (v view) writers(ctx context.Context, owner, name string) (tools.Author, error) {
	author, rev, err := v.authors(ctx, owner, name)
	if err == nil && rev == 0 {
		author = ownerAuthor(owner)
	}
	return author, err
}

// sign adds to a batch who writes below o/. A name that is written whole has one
// author; whoever writes a part of it, or takes a part away, is one more.
func (e *edit) sign(ctx context.Context, how manner) error {
	if e.segs[0] != "o" || e.t.author == nil || len(e.put)+len(e.del) == 0 {
		return nil
	}
	name, whole := e.segs[1], len(e.segs) == 2
	before, rev, err := e.authors(ctx, e.owner, name)
	if err != nil {
		return err
	}
	key := authorsKey(e.owner, name)
	e.expect[key] = rev
	if whole && how == removes {
		if rev != 0 {
			e.del = append(e.del, key)
		}
		return nil
	}
	after := *e.t.author
	if !whole || how != replaces {
		if rev == 0 && e.rev != 0 {
			before = ownerAuthor(e.owner)
		}
		after = after.And(before)
	}
	e.put[key], err = json.Marshal(after)
	return err
}

// Adopt lets the owner of a namespace be the author of what lies at r, below o/: of what was
// read there, if that is given, and of nothing that somebody put in its place.
func (t *Tree) Adopt(ctx context.Context, owner ucan.DID, r caps.Resource, read json.RawMessage) error {
	_, rev, err := t.Authors(ctx, owner.String(), r)
	if err != nil {
		return err
	}
	if err := t.reads(ctx, owner.String(), r, read); err != nil || rev == 0 {
		return err
	}
	key := authorsKey(owner.String(), r.Segments()[1])
	moved, err := t.store.Apply(ctx, map[string]uint64{key: rev}, nil, []string{key})
	if err == nil && moved != "" {
		err = fmt.Errorf("adopt %s: %w", r, ErrBusy)
	}
	return err
}

// errChanged says that not what was read would be adopted.
var errChanged = fault.New(fault.InTheWay, "it does not read as the value that was given: read it again, and adopt it if it is right")

// reads reports as an error that something else than want lies at r; nil wants nothing.
func (t *Tree) reads(ctx context.Context, owner string, r caps.Resource, want json.RawMessage) error {
	if want == nil {
		return nil
	}
	wanted, err := value.Decode(want, value.MaxDepth)
	if err != nil {
		return err
	}
	lies, rev, err := t.Get(ctx, owner, r)
	if err != nil {
		return err
	}
	if rev == 0 {
		return fmt.Errorf("adopt %s: %w", r, errChanged)
	}
	found, err := parse(lies)
	if err == nil && !reflect.DeepEqual(found, wanted) {
		err = fmt.Errorf("adopt %s: %w", r, errChanged)
	}
	return err
}
