package lending

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"usher/tools"
	"usher/tools/fault"
	"usher/tools/keylock"
	"usher/tools/lending"
	"usher/ucan"
	"usher/venue/config"
	"usher/venue/runs"
	"usher/venue/store"
)

// Options says what a room works with. All fields are needed.
type Options struct {
	Store    *store.Space // of the room alone
	Gate     *tools.Gate
	Mint     *tools.Mint
	Runs     *runs.Book
	Key      func(context.Context, ucan.DID) (ucan.Key, error)
	Verifier *ucan.Verifier
	// Agent is the authority of an agent of a principal's.
	Agent func(ctx context.Context, owner ucan.DID, id string) (tools.Authority, error)
	// Stands says why what somebody came by proves no more who they are: bearer is
	// [tools.Authority.Bearer].
	Stands func(ctx context.Context, owner ucan.DID, bearer string) error
	Now    func() time.Time
	Rand   io.Reader
}

// Room lends. It is safe for concurrent use.
type Room struct {
	Options
	lent   atomic.Pointer[section]
	asking *keylock.Locks // of principals: what they have is counted, and then more is stored
}

var _ lending.Service = (*Room)(nil)

// section is what a configuration says, and whose it is.
type section struct {
	config.A2A
	owner ucan.DID
}

// New returns a room without grants.
func New(o Options) *Room {
	r := &Room{Options: o, asking: keylock.New()}
	r.lent.Store(new(section))
	return r
}

// Set has the room lend what a configuration of the owner's says from now on.
func (r *Room) Set(owner ucan.DID, c config.A2A) { r.lent.Store(&section{c, owner}) }

// grant is a grant by its id, as it is now.
func (s *section) grant(id string) *config.Grant {
	for i := range s.Grants {
		if s.Grants[i].ID == id {
			return &s.Grants[i]
		}
	}
	return nil
}

func (s *section) skill(id string) *config.Skill {
	for i := range s.Skills {
		if s.Skills[i].ID == id {
			return &s.Skills[i]
		}
	}
	return nil
}

// Bounds of what is lent.
const (
	defaultLife = time.Hour
	maxLife     = 24 * time.Hour
	maxLent     = 1000 // capabilities that a principal asks for
	maxDepth    = 16   // of what is made of what was made
	maxLooked   = 1000 // things that one query looks at
	sweepFew    = 8    // that are over go with each new one
	keepOver    = time.Hour
)

// record is a capability as it is stored.
type record struct {
	ID         string          `json:"id"`
	Grant      string          `json:"grant"`
	Owner      ucan.DID        `json:"owner"`            // whose things they are
	Maker      ucan.DID        `json:"maker"`            // who asked for it
	Holder     ucan.DID        `json:"holder"`           // who may use it
	Agent      string          `json:"agent,omitempty"`  // of the holder's, which alone may
	Behind     []tools.Life    `json:"behind,omitempty"` // of the holder's, whose programs alone may
	Task       string          `json:"task,omitempty"`   // key of the run in which it may; "" for an agent is Run
	Run        string          `json:"run,omitempty"`    // in which alone it may be used
	Parent     string          `json:"parent,omitempty"` // what it was made of
	Depth      int             `json:"depth,omitempty"`
	Purpose    string          `json:"purpose"` // in the word of whoever asked
	Operations []string        `json:"operations"`
	Things     []thing         `json:"things"`
	Revocation string          `json:"revocation"`
	Token      string          `json:"token"`
	CID        ucan.CID        `json:"cid"`
	Expires    int64           `json:"expires"` // ms
	Revoked    bool            `json:"revoked,omitempty"`
	Authority  json.RawMessage `json:"authority,omitempty"` // sealed, of one that was made of none
	Bearer     string          `json:"bearer,omitempty"`    // by which its maker came
}

// thing is what a handle is of.
type thing struct {
	Handle     string `json:"handle"`
	Name       string `json:"name"`
	Path       string `json:"path"`
	Collection bool   `json:"collection,omitempty"`
}

// Rows is below which key of the whole store [CarryOver] looks at rows.
const Rows = "q/cap/"

// CarryOver says which capabilities are revoked where a folder is taken back to a moment, by their rows
// then and now: those that are by now.
func CarryOver(then, now map[string][]byte) (put map[string][]byte, del []string, err error) {
	put = make(map[string][]byte)
	for key := range then {
		var is record
		if raw := now[key]; raw != nil {
			if err := json.Unmarshal(raw, &is); err != nil {
				return nil, nil, fmt.Errorf("read %s: %w", key, err)
			}
			if is.Revoked {
				put[key] = raw
			}
		}
	}
	return put, nil, nil
}

func capKey(id string) string { return "cap/" + id }

func ofKey(holder ucan.DID, id string) string { return "of/" + holder.String() + "/" + id }

func byKey(maker ucan.DID, id string) string { return "by/" + maker.String() + "/" + id }

func dueKey(ms int64, id string) string { return fmt.Sprintf("due/%015d/%s", ms, id) }

// name is a new name that nobody guesses.
func name(kind string) string { return kind + "_" + strings.ToLower(rand.Text()) }

func refuse(reason lending.Reason, text string) error {
	return &lending.Error{Reason: reason, Text: text}
}

var errUnknown = refuse(lending.Unknown, "there is no such capability of yours here. Retrying the same call will not succeed.")

// read reads a capability by its id.
func (r *Room) read(ctx context.Context, id string) (*record, uint64, error) {
	raw, rev, err := r.Store.Get(ctx, capKey(id))
	if err != nil {
		return nil, 0, err
	}
	if raw == nil {
		return nil, 0, errUnknown
	}
	rec := new(record)
	return rec, rev, json.Unmarshal(raw, rec)
}

// find returns a capability of the caller's, by its id or its token. One that the caller does not
// have is as one that does not exist.
func (r *Room) find(ctx context.Context, call tools.Call, id string) (*record, error) {
	if strings.Count(id, ".") == 2 {
		link, err := ucan.OpenText(id)
		if err != nil {
			return nil, errUnknown
		}
		if id, err = r.byMark(ctx, "cid/"+link.CID.String()); err != nil {
			return nil, err
		}
	}
	if len(id) > 100 || strings.ContainsAny(id, "/") {
		return nil, errUnknown
	}
	rec, _, err := r.read(ctx, id)
	if err != nil {
		return nil, err
	}
	if mine, err := r.has(ctx, call.Authority(), rec); err != nil || !mine {
		return nil, cmp.Or(err, errUnknown)
	}
	return rec, nil
}

// byMark returns the id of the capability that a mark names.
func (r *Room) byMark(ctx context.Context, mark string) (string, error) {
	raw, _, err := r.Store.Get(ctx, mark)
	if err == nil && raw == nil {
		err = errUnknown
	}
	return string(raw), err
}

// has reports whether a capability is the caller's: the holder's in person, or its agent's in
// the task that it is for.
func (r *Room) has(ctx context.Context, auth tools.Authority, rec *record) (bool, error) {
	switch {
	case rec.Holder != auth.Owner():
		return false, nil
	case rec.Agent != auth.Actor() || !slices.Equal(rec.Behind, auth.Behind()):
		return false, nil
	case rec.Run == "" && rec.Task == "":
		return true, nil
	}
	return r.within(ctx, auth, rec)
}

// within reports whether a call comes of the task of a capability.
func (r *Room) within(ctx context.Context, auth tools.Authority, rec *record) (bool, error) {
	id := auth.Run()
	for range maxDepth {
		if id == "" {
			return false, nil
		}
		if id == rec.Run {
			return true, nil
		}
		run, err := r.Runs.Find(ctx, auth.Owner(), id)
		if fault.Of(err) == fault.NotFound {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if rec.Task != "" && run.Key == rec.Task {
			return true, nil
		}
		id = run.Parent
	}
	return false, nil
}

// stands says why a capability, or what it was made of, is none any more.
func (r *Room) stands(ctx context.Context, rec *record) (root *record, err error) {
	now := r.Now().UnixMilli()
	for range maxDepth + 1 {
		revoked := rec.Revoked
		if !revoked {
			if revoked, err = r.isTokenRevoked(ctx, rec); err != nil {
				return nil, err
			}
		}
		switch {
		case revoked:
			return nil, refuse(lending.Gone, "the capability is revoked. Retrying the same call will not succeed.")
		case now > rec.Expires:
			return nil, refuse(lending.Expired, "the capability has expired: ask for another.")
		}
		if err := r.Stands(ctx, rec.Maker, rec.Bearer); fault.Of(err) == fault.Unauthenticated {
			return nil, refuse(lending.Gone, "the capability has ended with the token or the session by which it was asked for. Retrying the same call will not succeed.")
		} else if err != nil || rec.Parent == "" {
			return rec, err
		}
		if rec, _, err = r.read(ctx, rec.Parent); err != nil {
			return nil, err
		}
	}
	return nil, errUnknown
}

// isTokenRevoked reports whether the token of a capability is revoked by its owner or holder.
func (r *Room) isTokenRevoked(ctx context.Context, rec *record) (bool, error) {
	list, err := r.Verifier.Store.Revocations(ctx, rec.CID)
	return slices.ContainsFunc(list, func(rv *ucan.Revocation) bool { return rv.Issuer == rec.Owner || rv.Issuer == rec.Holder }), err
}

// marks are the rows of a capability beside its own.
func (rec *record) marks() map[string][]byte {
	id := []byte(rec.ID)
	marks := map[string][]byte{
		ofKey(rec.Holder, rec.ID): {}, byKey(rec.Maker, rec.ID): {}, dueKey(rec.Expires, rec.ID): {},
		"rev/" + rec.Revocation: id, "cid/" + rec.CID.String(): id,
	}
	for _, t := range rec.Things {
		marks["handle/"+t.Handle] = id
	}
	return marks
}

// store stores new capabilities with their marks, and removes a few that have long ended.
func (r *Room) store(ctx context.Context, list []*record, expect map[string]uint64) error {
	put := make(map[string][]byte)
	for _, rec := range list {
		raw, err := json.Marshal(rec)
		if err != nil {
			return err
		}
		put[capKey(rec.ID)] = raw
		maps.Copy(put, rec.marks())
	}
	moved, err := r.Store.Apply(ctx, expect, put, nil)
	if err == nil && moved != "" {
		err = errMoved
	}
	return err
}

var errMoved = fault.New(fault.Busy, "the capability changed meanwhile: try again")

// room reports whether a principal may ask for more, after a few that have long ended are
// forgotten.
func (r *Room) room(ctx context.Context, maker ucan.DID, more int) error {
	if err := r.sweep(ctx); err != nil {
		return err
	}
	n := 0
	for _, err := range store.Keys(ctx, r.Store, byKey(maker, ""), "") {
		if err != nil {
			return err
		}
		if n++; n+more > maxLent {
			return fault.New(fault.LimitReached, fmt.Sprintf("you have asked for %d capabilities, as many as a principal may: wait until some have ended", maxLent))
		}
	}
	return nil
}

func (r *Room) sweep(ctx context.Context) error {
	keys, _, err := r.Store.PageKeys(ctx, "due/", "", sweepFew)
	if err != nil {
		return err
	}
	before := dueKey(r.Now().Add(-keepOver).UnixMilli(), "")
	for _, key := range keys {
		if key >= before {
			return nil
		}
		rec, rev, err := r.read(ctx, key[strings.LastIndex(key, "/")+1:])
		if errors.Is(err, errUnknown) {
			if _, err := r.Store.Apply(ctx, nil, nil, []string{key}); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		del := append(slices.Collect(maps.Keys(rec.marks())), capKey(rec.ID))
		if _, err := r.Store.Apply(ctx, map[string]uint64{capKey(rec.ID): rev}, nil, del); err != nil {
			return err
		}
	}
	return nil
}
