package approvals

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"usher/caps/value"
	"usher/tools"
	"usher/tools/approvals"
	"usher/tools/fault"
	"usher/ucan"
	"usher/venue/runs"
	"usher/venue/store"
)

// Options says what a room works with. Every field but the last two is needed.
type Options struct {
	Store  *store.Space // of the whole venue
	Runs   *runs.Book
	Keys   keyring
	Now    func() time.Time
	NewID  func() (string, error)
	Logger *slog.Logger

	Life time.Duration // of a request; 0 is [DefaultLife]
	// Told is called with each request that is filed and each that is answered; nil is
	// nobody. It must not wait.
	Told func(approvals.Request)
}

// DefaultLife is how long a request waits for an answer.
const DefaultLife = 7 * 24 * time.Hour

// maxShown bounds the input that a request keeps, in bytes.
const maxShown = 256 << 10

// keyring has the keys of the venue's users.
type keyring interface {
	Of(ctx context.Context, did ucan.DID) (ucan.Key, error)
	// Independent returns the life of the agent whose key the principal is, or "".
	Independent(did ucan.DID) tools.Life
}

// Room keeps the requests. It is safe for concurrent use.
type Room struct{ Options }

var (
	_ approvals.Service = (*Room)(nil)
	_ tools.Approvals   = (*Room)(nil)
)

// New returns a room.
func New(o Options) *Room {
	o.Life = cmp.Or(o.Life, DefaultLife)
	return &Room{o}
}

// record is a request as it is stored.
type record struct {
	approvals.Request
	Runner string     `json:"runner"`         // DID that the run is of
	Life   tools.Life `json:"life,omitempty"` // of the agent that makes the call
	Key    string     `json:"key,omitempty"`  // of the call in its run
	Used   int64      `json:"used,omitempty"` // ms
}

const prefix = "p/"

func requestKey(owner, id string) string { return prefix + "req/" + owner + "/" + id }
func atKey(key string) string            { return prefix + "at/" + key }
func openKey(owner, id string) string    { return prefix + "open/" + owner + "/" + id }
func callKey(digest string) string       { return prefix + "call/" + digest }
func dueKey(ms int64, id string) string  { return fmt.Sprintf("%sdue/%016d/%s", prefix, ms, id) }

// person is who answers for a principal: the user, or whose agent it is.
func (r *Room) person(of ucan.DID) string {
	for {
		life := r.Keys.Independent(of)
		above, err := ucan.ParseDID(life.Owner())
		if life == "" || err != nil || above == of {
			return of.String()
		}
		of = above
	}
}

// digestOf names a call: who makes it, where in its run, and all that it is.
func digestOf(r *tools.Ruling, at tools.At) (string, error) {
	input, err := value.Decode(r.Input(), value.MaxDepth)
	if err != nil {
		return "", err
	}
	auth := r.Authority()
	text, err := json.Marshal([]any{
		"usher call", auth.Owner().String(), string(auth.Life()), auth.Via(), at.In(auth.Run()), r.Operation().Path(), r.Operation().Reference(), r.Operation().Program(),
		json.RawMessage(value.Append(nil, input)),
	})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

// find reads a request of a person.
func (r *Room) find(ctx context.Context, owner, id string) (rec record, rev uint64, err error) {
	raw, rev, err := r.Store.Get(ctx, requestKey(owner, id))
	if err != nil {
		return rec, 0, err
	}
	if raw == nil {
		return rec, 0, fault.New(fault.NotFound, fmt.Sprintf("there is no request %q", id)) // also when another has it
	}
	if err := json.Unmarshal(raw, &rec); err != nil {
		return rec, 0, fmt.Errorf("read request %s: %w", id, err)
	}
	if r.expired(&rec) {
		rec.Status = approvals.Expired
	}
	return rec, rev, nil
}

func (r *Room) expired(rec *record) bool {
	return (rec.Status == approvals.Pending || rec.Status == approvals.Approved) && r.Now().UnixMilli() > rec.Expires
}

// Answer is that of [tools.Approvals].
func (r *Room) Answer(ctx context.Context, ruling *tools.Ruling, at tools.At) (*tools.Grant, error) {
	digest, err := digestOf(ruling, at)
	if err != nil {
		return nil, err
	}
	owner := r.person(ruling.Authority().Owner())
	id, marked, err := r.Store.Get(ctx, callKey(digest))
	if err != nil {
		return nil, err
	}
	if id == nil {
		return nil, r.file(ctx, ruling, at, owner, digest, marked)
	}
	rec, rev, err := r.find(ctx, owner, string(id))
	if fault.Of(err) == fault.NotFound {
		return nil, r.file(ctx, ruling, at, owner, digest, marked)
	}
	if err != nil {
		return nil, err
	}
	switch rec.Status {
	case approvals.Pending:
		return nil, waits(&rec)
	case approvals.Denied:
		return nil, r.spend(ctx, &rec, rev, refusal("a person has refused this call", rec.Answer.Reason))
	case approvals.Expired:
		if rec.Answer == nil {
			return nil, r.spend(ctx, &rec, rev, refusal("nobody has answered whether this call may be made", ""))
		}
		return nil, r.file(ctx, ruling, at, owner, digest, marked)
	case approvals.Used:
		if rec.Key != "" && ruling.Operation().Repeatable() {
			return &tools.Grant{Approval: rec.ID}, nil // the same call, which its run makes again
		}
		return nil, r.file(ctx, ruling, at, owner, digest, marked)
	}
	if rec.Digest != digest || !verifies(&rec) {
		return nil, fault.New(fault.Refused, "the approval "+rec.ID+" is not what a person has signed")
	}
	rec.Status, rec.Used = approvals.Used, r.Now().UnixMilli()
	raw, err := json.Marshal(rec)
	if err != nil {
		return nil, err
	}
	key := requestKey(owner, rec.ID)
	return &tools.Grant{Approval: rec.ID, Expect: map[string]uint64{key: rev}, Put: map[string][]byte{key: raw}}, nil
}

func waits(rec *record) error {
	return &tools.WaitError{Approval: rec.ID, Call: rec.Operation}
}

func refusal(text, reason string) error {
	if reason != "" {
		text += ": " + reason
	}
	return fault.New(fault.Refused, text+". Retrying the same call will not succeed.")
}

// spend forgets the refusal of a call that is told: a call that is the same, and made
// anew outside of a run, is asked about again.
func (r *Room) spend(ctx context.Context, rec *record, rev uint64, told error) error {
	if rec.Key != "" {
		return told
	}
	expect := map[string]uint64{requestKey(rec.Owner, rec.ID): rev}
	if _, err := r.Store.Apply(ctx, expect, nil, []string{callKey(rec.Digest)}); err != nil {
		return err
	}
	return told
}

// file files a request for a call, in place of the one that marked says.
func (r *Room) file(ctx context.Context, ruling *tools.Ruling, at tools.At, owner, digest string, marked uint64) error {
	id, err := r.NewID()
	if err != nil {
		return err
	}
	auth, now := ruling.Authority(), r.Now()
	e := ruling.Entry()
	rec := record{
		Request: approvals.Request{
			ID: id, Status: approvals.Pending, Owner: owner, Agent: auth.Actor(), Via: auth.Via(), Run: auth.Run(), Session: e.Session,
			Operation: e.Operation, Input: shown(ruling), Digest: digest, Why: e.Reason,
			Created: now.UnixMilli(), Expires: now.Add(r.Life).UnixMilli(),
		},
		Runner: runner(ctx, auth), Life: auth.Life(), Key: at.In(auth.Run()),
	}
	for need := range ruling.Needs() {
		if len(rec.Needs) < 64 {
			rec.Needs = append(rec.Needs, need.String())
		}
	}
	raw, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	put := map[string][]byte{
		callKey(digest): []byte(id), requestKey(owner, id): raw, openKey(owner, id): {}, dueKey(rec.Expires, id): []byte(owner),
	}
	if rec.Key != "" {
		put[atKey(rec.Key)] = []byte(id)
	}
	moved, err := r.Store.Apply(ctx, map[string]uint64{callKey(digest): marked}, put, nil)
	if err == nil && moved != "" {
		err = fault.New(fault.Busy, "the same call was asked about meanwhile")
	}
	if err != nil {
		return fmt.Errorf("ask for an approval: %w", err)
	}
	r.tell(&rec)
	return waits(&rec)
}

// runner is whose the run is that makes a call: an agent with an identity of its own
// works in runs of whoever asked it.
func runner(ctx context.Context, auth tools.Authority) string {
	if run := runs.From(ctx); run != nil && run.ID() == auth.Run() {
		return run.Owner().String()
	}
	return auth.Owner().String()
}

func (r *Room) tell(rec *record) {
	if r.Told != nil {
		r.Told(rec.Request)
	}
}

// shown is the input as a person sees it.
func shown(ruling *tools.Ruling) json.RawMessage {
	if ruling.Operation().Sealed() {
		return json.RawMessage(`"` + value.Redacted + `"`)
	}
	if input := ruling.Input(); len(input) <= maxShown {
		return input
	}
	text := value.Cut(string(ruling.Input()), maxShown)
	return value.AppendString(nil, fmt.Sprintf("the first %d of %d bytes: %s", len(text), len(ruling.Input()), text))
}

// Unbegun reports whether a call is known not to have begun: a person was to be
// asked, and no answer is used up.
func (r *Room) Unbegun(ctx context.Context, auth tools.Authority, at tools.At) bool {
	key := at.In(auth.Run())
	if key == "" {
		return false
	}
	id, _, err := r.Store.Get(ctx, atKey(key))
	if err != nil || id == nil {
		return false
	}
	rec, _, err := r.find(ctx, r.person(auth.Owner()), string(id))
	return err == nil && rec.Used == 0
}

var errOnlyPersons = fault.New(fault.Refused, "an agent cannot answer for a person: the owner can, by usher approvals")

// answer writes what the caller says to a request, and has its run go on.
func (r *Room) answer(ctx context.Context, call tools.Call, id string, say func(*record) error) (approvals.Request, error) {
	if auth := call.Authority(); auth.Actor() != "" || len(auth.Via()) > 0 || len(auth.Bound().Lives) > 0 { // the last: an agent wrote the program
		return approvals.Request{}, errOnlyPersons
	}
	owner := call.Owner().String()
	rec, rev, err := r.find(ctx, owner, id)
	if err != nil {
		return approvals.Request{}, err
	}
	if rec.Status != approvals.Pending {
		return approvals.Request{}, fault.New(fault.InvalidInput, fmt.Sprintf("request %s is %s: only one that is PENDING can be answered", id, rec.Status))
	}
	if runner, err := ucan.ParseDID(rec.Runner); err == nil && rec.Run != "" {
		if run, err := r.Runs.Find(ctx, runner, rec.Run); err == nil && run.Over() {
			return approvals.Request{}, fault.New(fault.InvalidInput, fmt.Sprintf("the run %s that asked is %s: there is nothing to answer any more", rec.Run, run.Status))
		}
	}
	due := dueKey(rec.Expires, id)
	rec.Answer = &approvals.Answer{By: owner, At: r.Now().UnixMilli()}
	if err := say(&rec); err != nil {
		return approvals.Request{}, err
	}
	raw, err := json.Marshal(rec)
	if err != nil {
		return approvals.Request{}, err
	}
	moved, err := r.Store.Apply(ctx, map[string]uint64{requestKey(owner, id): rev}, map[string][]byte{requestKey(owner, id): raw}, []string{openKey(owner, id), due})
	if err == nil && moved != "" {
		err = fault.New(fault.Busy, "the request was answered meanwhile")
	}
	if err != nil {
		return approvals.Request{}, err
	}
	r.tell(&rec)
	return rec.Request, r.wake(ctx, &rec)
}

// wake has the run of a request go on.
func (r *Room) wake(ctx context.Context, rec *record) error {
	runner, err := ucan.ParseDID(rec.Runner)
	if rec.Run == "" || err != nil {
		return err
	}
	if err := r.Runs.Wake(context.WithoutCancel(ctx), runner, rec.Run); err != nil && fault.Of(err) != fault.NotFound {
		return fmt.Errorf("the answer is stored; its run goes on when the venue is opened again: %w", err)
	}
	return nil
}

// Approve is that of [approvals.Service].
func (r *Room) Approve(ctx context.Context, call tools.Call, in approvals.Yes) (approvals.Request, error) {
	life, err := in.Life()
	if err != nil {
		return approvals.Request{}, err
	}
	return r.answer(ctx, call, in.ID, func(rec *record) error {
		if in.Digest != "" && in.Digest != rec.Digest {
			return fault.New(fault.InvalidInput, "the digest is that of another call: look at the request again")
		}
		key, err := r.Keys.Of(ctx, call.Owner())
		if err != nil {
			return err
		}
		rec.Status, rec.Answer.Reason, rec.Expires = approvals.Approved, in.Reason, r.Now().Add(life).UnixMilli()
		rec.Answer.Signature = key.Sign(rec.statement())
		return nil
	})
}

// Deny is that of [approvals.Service].
func (r *Room) Deny(ctx context.Context, call tools.Call, in approvals.No) (approvals.Request, error) {
	return r.answer(ctx, call, in.ID, func(rec *record) error {
		rec.Status, rec.Answer.Reason = approvals.Denied, value.Cut(in.Reason, 1<<10)
		return nil
	})
}

// statement is what a person signs: that this call may be made once, until a time.
func (rec *record) statement() []byte {
	text, _ := json.Marshal([]any{"usher approval", rec.ID, rec.Owner, rec.Digest, rec.Answer.At, rec.Expires}) // of texts and numbers
	return text
}

func verifies(rec *record) bool {
	by, err := ucan.ParseDID(rec.Answer.By)
	return err == nil && rec.Answer.By == rec.Owner && len(by.PublicKey()) == ed25519.PublicKeySize &&
		ed25519.Verify(by.PublicKey(), rec.statement(), rec.Answer.Signature)
}

// Show is that of [approvals.Service].
func (r *Room) Show(ctx context.Context, call tools.Call, in approvals.Named) (approvals.Request, error) {
	rec, _, err := r.find(ctx, call.Owner().String(), in.ID)
	return rec.Request, err
}

// List is that of [approvals.Service].
func (r *Room) List(ctx context.Context, call tools.Call, in approvals.Query) (list approvals.Listing, err error) {
	owner := call.Owner().String()
	below := openKey(owner, "")
	if in.All {
		below = requestKey(owner, "")
	}
	from := ""
	if in.Cursor != "" {
		from = below + in.Cursor
	}
	list.Requests = []approvals.Request{}
	keys, next, err := r.Store.PageKeys(ctx, below, from, cmp.Or(in.Limit, 100))
	if err != nil {
		return list, err
	}
	for _, key := range keys {
		rec, _, err := r.find(ctx, owner, key[len(below):])
		if errors.Is(err, context.Canceled) {
			return list, err
		}
		if err == nil && (in.All || rec.Status == approvals.Pending) {
			list.Requests = append(list.Requests, rec.Request)
		}
	}
	if next != "" {
		list.Cursor = next[len(below):]
	}
	return list, nil
}

// Answered reports whether a request needs nobody any more, of a run of owner.
func (r *Room) Answered(ctx context.Context, owner ucan.DID, id string) (bool, error) {
	rec, _, err := r.find(ctx, r.person(owner), id)
	if fault.Of(err) == fault.NotFound {
		return true, nil
	}
	return err == nil && rec.Status != approvals.Pending, err
}

// Run has the runs of requests go on that nobody has answered in time, until ctx ends.
func (r *Room) Run(ctx context.Context) {
	const often = time.Minute
	tick := time.NewTicker(often)
	defer tick.Stop()
	for {
		if err := r.expire(ctx); err != nil && ctx.Err() == nil {
			r.Logger.LogAttrs(ctx, slog.LevelWarn, "requests that have expired are not told", slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (r *Room) expire(ctx context.Context) error {
	const due = prefix + "due/"
	for {
		rows, _, err := r.Store.Page(ctx, due, "", 100)
		if err != nil {
			return err
		}
		for _, row := range rows {
			var ms int64
			var id string
			if _, err := fmt.Sscanf(row.Key[len(due):], "%d/%s", &ms, &id); err != nil {
				return err
			}
			if ms >= r.Now().UnixMilli() {
				return nil
			}
			owner := string(row.Value)
			if _, err := r.Store.Apply(ctx, nil, nil, []string{row.Key, openKey(owner, id)}); err != nil {
				return err
			}
			rec, _, err := r.find(ctx, owner, id)
			if err != nil {
				continue // removed
			}
			r.tell(&rec)
			if err := r.wake(ctx, &rec); err != nil {
				return err
			}
		}
		if len(rows) == 0 {
			return nil
		}
	}
}
