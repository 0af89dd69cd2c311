// Package replies is the room of a venue that has what was answered to requests that
// carry a key of their own (the header Idempotency-Key): who sends one again is answered
// the same, and nothing is done twice. [Room.Begin] is called with each, and then either
// [Ticket.Keep] or [Ticket.Drop].
//
// A request that was begun and has no reply is either under way, which is
// [ErrUnderWay], or the venue stopped in the middle of it: then [Ticket.Again] says so, and
// whoever has the ticket goes on only with what is done once under the ticket's name.
//
// What was answered is sealed by the key of the request, which is not stored.
package replies

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"usher/tools/fault"
	"usher/ucan"
	"usher/venue/store"
)

// Bounds of what is kept.
const (
	Life     = 24 * time.Hour
	MaxKeys  = 1000        // of a principal in person, and of each who comes as it within bounds
	MaxOfAll = 4 * MaxKeys // of all of those
	MaxBody  = 64 << 10    // bytes of an answer; a longer one is not told again
	sweepFew = 4           // that are over go with each new one
)

var (
	// ErrUnderWay: the request of the key is being answered.
	ErrUnderWay = fault.New(fault.Busy, "a request with this Idempotency-Key is under way: ask again in a moment")
	// ErrOther: the key was sent with something else.
	ErrOther = fault.New(fault.KeyReused, "this Idempotency-Key was sent with another request: a new request takes a new key")
	// ErrUnknown: the venue stopped while it answered.
	ErrUnknown = fault.New(fault.Unknown, "the venue stopped while it answered the request of this Idempotency-Key, so nobody can tell whether it took effect: look, and send it under a new key if it did not")
	// ErrTooLong: the answer was too long to be kept.
	ErrTooLong = fault.New(fault.InTheWay, fmt.Sprintf("the request of this Idempotency-Key was answered, with more than the %d bytes that are kept: it is not done again", MaxBody))

	// errShorter: the key was sent with a proof that holds longer.
	errShorter = fault.New(fault.KeyReused, "this Idempotency-Key was sent with a token that holds longer than yours: send it again with one that does, or a new request with a new key")
	errMany    = fault.New(fault.LimitReached, fmt.Sprintf("you have used %d keys within a day, as many as are kept: leave Idempotency-Key out, or wait", MaxKeys))
	errManyAll = fault.New(fault.LimitReached, fmt.Sprintf("agents, and who else comes within bounds, have used %d keys of this principal within a day, as many as are kept: leave Idempotency-Key out, or wait", MaxOfAll))
)

// Options says what a room works with. All fields are needed.
type Options struct {
	Store *store.Space // of the room alone
	Key   []byte       // seals what is kept
	Now   func() time.Time
}

// Room keeps replies. It is safe for concurrent use.
type Room struct {
	Options

	mu    sync.Mutex
	under map[string]struct{} // keys of the store whose requests are under way
}

// New returns a room.
func New(o Options) *Room { return &Room{Options: o, under: make(map[string]struct{})} }

// Request is a request that carries a key.
type Request struct {
	Owner  ucan.DID // as whom it is made
	By     string   // who makes it ([tools.Authority.Who]); empty is the owner in person
	Within []byte   // on what authority: another's with the same key is another request
	Key    string
	Digest [sha256.Size]byte // of all that it asks for
	// Until is when the proof of who makes it ends; zero is never. What was answered to one
	// that holds longer is not told: it may be a token that does, too.
	Until time.Time
}

// Reply is what was answered.
type Reply struct {
	Status   int
	Type     string // of the body
	Location string
	Body     []byte
}

// record is a request as it is stored.
type record struct {
	Digest []byte `json:"digest"`
	At     int64  `json:"at"`               // ms
	Until  int64  `json:"until,omitempty"`  // s; 0 is for good
	Reply  []byte `json:"reply,omitempty"`  // sealed; none while it is not answered
	Long   bool   `json:"long,omitempty"`   // it was answered, with more than is kept
	Status int    `json:"status,omitempty"` // of the answer, for whoever looks
}

// Ticket is a request that nobody else answers meanwhile.
type Ticket struct {
	Again bool // it was begun before, and the venue stopped in the middle

	room *Room
	at   string // key of the store
	mark string // by which it is found when it is over
	rev  uint64
	rec  record
	seal cipher.AEAD
}

// Begin returns the ticket of a request, or else what was answered to it before.
func (r *Room) Begin(ctx context.Context, req *Request) (*Ticket, *Reply, error) {
	name := r.derive("name", req)
	t := &Ticket{room: r, at: keysOf(req) + hex.EncodeToString(name)}
	block, err := aes.NewCipher(r.derive("seal", req))
	if err == nil {
		t.seal, err = cipher.NewGCMWithRandomNonce(block)
	}
	if err != nil {
		return nil, nil, err
	}
	if !r.take(t.at) {
		return nil, nil, ErrUnderWay
	}
	reply, err := t.begin(ctx, req)
	if reply != nil || err != nil {
		r.leave(t.at)
		return nil, reply, err
	}
	return t, nil, nil
}

// inPerson stands in the place of who makes a request: before all of those.
const inPerson = "-"

// keysOf is below which keys of the store the requests lie of whoever makes one.
func keysOf(req *Request) string {
	return "k/" + req.Owner.String() + "/" + cmp.Or(req.By, inPerson) + "/"
}

// derive makes a key of the room's for a request.
func (r *Room) derive(purpose string, req *Request) []byte {
	mac := hmac.New(sha256.New, r.Key)
	for _, part := range [][]byte{[]byte(purpose), []byte(req.Owner.String()), req.Within, []byte(req.Key)} {
		fmt.Fprintf(mac, "%d:", len(part))
		mac.Write(part)
	}
	return mac.Sum(nil)
}

func (r *Room) take(at string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.under[at]; taken {
		return false
	}
	r.under[at] = struct{}{}
	return true
}

func (r *Room) leave(at string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.under, at)
}

func (t *Ticket) begin(ctx context.Context, req *Request) (*Reply, error) {
	raw, rev, err := t.room.Store.Get(ctx, t.at)
	if err != nil {
		return nil, fmt.Errorf("look for a reply: %w", err)
	}
	now := t.room.Now()
	if raw != nil {
		if err := json.Unmarshal(raw, &t.rec); err != nil {
			return nil, fmt.Errorf("read reply: %w", err)
		}
		t.rev = rev
		if old := now.Sub(time.UnixMilli(t.rec.At)); old < Life {
			t.mark = mark(t.rec.At, t.at)
			return t.before(req)
		}
	}
	return nil, t.create(ctx, req, now)
}

// before is what there is of a request that was begun before.
func (t *Ticket) before(req *Request) (*Reply, error) {
	switch {
	case !hmac.Equal(t.rec.Digest, req.Digest[:]):
		return nil, ErrOther
	case !req.Until.IsZero() && (t.rec.Until == 0 || req.Until.Unix() < t.rec.Until):
		return nil, errShorter
	case t.rec.Long:
		return nil, ErrTooLong
	case t.rec.Reply == nil:
		t.Again = true
		return nil, nil
	}
	raw, err := t.seal.Open(nil, nil, t.rec.Reply, []byte(t.at))
	var reply Reply
	if err == nil {
		err = json.Unmarshal(raw, &reply)
	}
	if err != nil {
		return nil, fmt.Errorf("read reply: %w", err)
	}
	return &reply, nil
}

func mark(at int64, key string) string { return fmt.Sprintf("e/%015d/%s", at, key[2:]) }

// create stores that the request is begun.
func (t *Ticket) create(ctx context.Context, req *Request, now time.Time) error {
	s := t.room.Store
	over, err := t.over(ctx, now)
	if err != nil {
		return err
	}
	if err := t.room.hasRoom(ctx, req, over); err != nil {
		return err
	}
	t.rec = record{Digest: req.Digest[:], At: now.UnixMilli()}
	if !req.Until.IsZero() {
		t.rec.Until = req.Until.Unix()
	}
	raw, err := json.Marshal(t.rec)
	if err != nil {
		return err
	}
	t.mark = mark(t.rec.At, t.at)
	put := map[string][]byte{t.at: raw, t.mark: {}}
	over = slices.DeleteFunc(over, func(key string) bool { return key == t.at })
	moved, err := s.Apply(ctx, map[string]uint64{t.at: t.rev}, put, over)
	if err == nil && moved != "" {
		err = ErrUnderWay // another process has begun it
	}
	if err != nil {
		return err
	}
	_, t.rev, err = s.Get(ctx, t.at)
	return err
}

// hasRoom says why one more request is not kept. What others do in the owner's name leaves
// the owner's own room.
func (r *Room) hasRoom(ctx context.Context, req *Request, over []string) error {
	count := func(below, from string, most int) (full bool, err error) {
		keys, _, err := r.Store.PageKeys(ctx, below, from, most+len(over))
		if err != nil {
			return false, fmt.Errorf("count replies: %w", err)
		}
		keys = slices.DeleteFunc(keys, func(key string) bool { return slices.Contains(over, key) })
		return len(keys) >= most, nil
	}
	full, err := count(keysOf(req), "", MaxKeys)
	if full && err == nil {
		return errMany
	}
	if err != nil || req.By == "" {
		return err
	}
	all := "k/" + req.Owner.String() + "/"
	if full, err = count(all, all+inPerson+"0", MaxOfAll); full && err == nil { // behind "-/"
		return errManyAll
	}
	return err
}

// over lists some requests that are over, with their marks.
func (t *Ticket) over(ctx context.Context, now time.Time) (gone []string, err error) {
	marks, _, err := t.room.Store.PageKeys(ctx, "e/", "", sweepFew)
	if err != nil {
		return nil, fmt.Errorf("look for replies that are over: %w", err)
	}
	for _, m := range marks {
		if at, err := strconv.ParseInt(m[2:min(len(m), 17)], 10, 64); err == nil && now.Sub(time.UnixMilli(at)) >= Life {
			key := "k/" + m[min(len(m), 18):]
			raw, _, err := t.room.Store.Get(ctx, key)
			if err != nil {
				return nil, err
			}
			var rec record
			if gone = append(gone, m); raw != nil && json.Unmarshal(raw, &rec) == nil && rec.At == at { // none that took its name since
				gone = append(gone, key)
			}
		}
	}
	return gone, nil
}

// Name names the request to what does once what is asked for under one name.
func (t *Ticket) Name() string { return fmt.Sprintf("once/%s/%d/%x", t.at[2:], t.rec.At, t.rec.Digest) }

// Keep stores what is answered, and ends the ticket.
func (t *Ticket) Keep(ctx context.Context, reply *Reply) error {
	defer t.room.leave(t.at)
	raw, err := json.Marshal(reply)
	if err != nil {
		return err
	}
	t.rec.Status, t.rec.Long = reply.Status, len(reply.Body) > MaxBody
	if !t.rec.Long {
		t.rec.Reply = t.seal.Seal(nil, nil, raw, []byte(t.at))
	}
	if raw, err = json.Marshal(t.rec); err != nil {
		return err
	}
	_, err = t.room.Store.Apply(ctx, map[string]uint64{t.at: t.rev}, map[string][]byte{t.at: raw}, nil)
	return err
}

// Drop forgets the request, which did nothing, and ends the ticket.
func (t *Ticket) Drop(ctx context.Context) error {
	defer t.room.leave(t.at)
	_, err := t.room.Store.Apply(ctx, map[string]uint64{t.at: t.rev}, nil, []string{t.at, t.mark})
	return err
}

// Leave ends the ticket of a request of which nobody knows what it did.
func (t *Ticket) Leave() { t.room.leave(t.at) }
