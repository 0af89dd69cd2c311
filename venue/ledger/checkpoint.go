package ledger

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"usher/ucan"
)

// How often checkpoints come, when there are new rows.
const (
	CheckpointRows  = 1000
	CheckpointEvery = time.Minute
)

// Checkpoint is a tree that the venue has signed.
type Checkpoint struct {
	Size uint64
	Root tlog.Hash
	Note string // as it was signed: a C2SP signed note, whose origin and key name are the venue's DID
}

// signer signs notes with the venue's key.
type signer struct {
	note.Verifier
	key ucan.Key
}

func newSigner(key ucan.Key) (note.Signer, error) {
	v, err := verifierOf(key.DID())
	return &signer{v, key}, err
}

func (s *signer) Sign(msg []byte) ([]byte, error) { return s.key.Sign(msg), nil }

func verifierOf(venue ucan.DID) (note.Verifier, error) {
	key, err := note.NewEd25519VerifierKey(venue.String(), venue.PublicKey())
	if err != nil {
		return nil, err
	}
	return note.NewVerifier(key)
}

func (h head) text(origin string) string {
	return fmt.Sprintf("%s\n%d\n%s\n", origin, h.size, h.root)
}

// open reads a checkpoint of this venue. It takes one form of each and no
// other, so that no byte of it can change unnoticed.
func (r *Reader) open(text string) (c Checkpoint, err error) {
	verifier, err := verifierOf(r.venue)
	if err != nil {
		return c, err
	}
	signed, err := note.Open([]byte(text), note.VerifierList(verifier))
	if err != nil {
		return c, fmt.Errorf("%w: a checkpoint is not signed by %s: %w", ErrBroken, r.venue, err)
	}
	for _, sig := range signed.Sigs {
		if _, err := base64.StdEncoding.Strict().DecodeString(sig.Base64); err != nil {
			return c, fmt.Errorf("%w: the signature of a checkpoint was changed", ErrBroken)
		}
	}
	lines := strings.Split(signed.Text, "\n")
	if len(lines) < 4 {
		return c, fmt.Errorf("%w: %s signed what is no checkpoint", ErrBroken, r.venue)
	}
	c.Note = text
	c.Size, err = strconv.ParseUint(lines[1], 10, 64)
	if err == nil {
		c.Root, err = tlog.ParseHash(lines[2])
	}
	if err != nil || c.Size > maxSize || c.head().text(r.venue.String()) != signed.Text {
		return c, fmt.Errorf("%w: %s signed what is no checkpoint of its ledger", ErrBroken, r.venue)
	}
	return c, nil
}

func (c *Checkpoint) head() head { return head{c.Size, c.Root} }

// CheckNotes says whether a text is checkpoints, of whatever ledger, signed by
// whomever.
func CheckNotes(text string) error {
	origin, _, _ := strings.Cut(strings.TrimLeft(text, "\n"), "\n")
	for _, text := range notes(text, origin) {
		_, err := note.Open([]byte(text), note.VerifierList())
		signed, ok := errors.AsType[*note.UnverifiedNoteError](err) // nobody's signature is checked
		if !ok {
			return errors.New("it is no signed note")
		}
		lines := strings.Split(signed.Note.Text, "\n")
		if len(lines) < 4 {
			return errors.New("it is a signed note of something else")
		}
		_, err = strconv.ParseUint(lines[1], 10, 64)
		if err == nil {
			_, err = tlog.ParseHash(lines[2])
		}
		if err != nil {
			return errors.New("it is a signed note of something else")
		}
	}
	return nil
}

// newest is the last checkpoint in the store; zero where there is none.
func (r *Reader) newest(ctx context.Context) (c Checkpoint, err error) {
	rows, _, err := r.store.PageBack(ctx, signPrefix, "", 1)
	if err != nil || len(rows) == 0 {
		return c, err
	}
	return r.openAt(rows[0])
}

// openAt reads a checkpoint that the store holds under its size.
func (r *Reader) openAt(row record) (c Checkpoint, err error) {
	if c, err = r.open(string(row.Value)); err == nil && row.Key != signKey(c.Size) {
		err = fmt.Errorf("%w: a checkpoint of %d rows stands in another's place", ErrBroken, c.Size)
	}
	return c, err
}

// covers checks that the ledger of so many rows continues a checkpoint. A zero
// checkpoint is continued by every ledger.
func (r *Reader) covers(ctx context.Context, rows uint64, c Checkpoint) error {
	if c.Note == "" {
		return nil
	}
	if c.Size > rows {
		return rolledBack(c.Size, rows)
	}
	t, err := r.grown(ctx, c.Size)
	if err != nil {
		return err
	}
	if t.root() != c.Root {
		return rewritten(c.Size)
	}
	return nil
}

func rolledBack(signed, rows uint64) error {
	return fmt.Errorf("%w: a checkpoint was signed over %d rows, and there are %d: it was rolled back or cut", ErrBroken, signed, rows)
}

func rewritten(signed uint64) error {
	return fmt.Errorf("%w: its first %d rows are not those that a checkpoint was signed over: they were rewritten, or this is a fork", ErrBroken, signed)
}

// Checkpoint signs the tree as it is now, and returns the newest checkpoint.
func (l *Ledger) Checkpoint(ctx context.Context) (Checkpoint, error) {
	return l.sign(ctx, l.end())
}

// end is the tree as it is now.
func (l *Ledger) end() head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.written.head()
}

// sign signs a tree, unless a later one is signed already, and hands the
// checkpoint to the couriers. What it covers survives a loss of power before.
func (l *Ledger) sign(ctx context.Context, h head) (Checkpoint, error) {
	l.signing.Lock()
	defer l.signing.Unlock()
	if l.last.Note != "" && h.size <= l.last.Size {
		return l.last, nil
	}
	if err := l.store.Sync(ctx); err != nil {
		return Checkpoint{}, fmt.Errorf("make checkpoint: %w", err)
	}
	text, err := note.Sign(&note.Note{Text: h.text(l.venue.String())}, l.signer)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("make checkpoint: %w", err)
	}
	if _, err := l.store.Apply(ctx, nil, map[string][]byte{signKey(h.size): text}, nil); err != nil {
		return Checkpoint{}, fmt.Errorf("keep checkpoint: %w", err)
	}
	l.last = Checkpoint{h.size, h.root, string(text)}
	l.mu.Lock()
	l.marked = max(l.marked, h.size)
	l.waiting = l.written.size > l.marked
	l.mu.Unlock()
	for _, c := range l.couriers {
		c.send(l.last)
	}
	return l.last, nil
}

// mark says that new rows need a checkpoint: at once, or within its time. The
// caller holds l.mu.
func (l *Ledger) mark() {
	switch rows := l.written.size - l.marked; {
	case rows >= CheckpointRows:
		l.due = append(l.due, l.written.head())
		l.marked, l.waiting = l.written.size, false
	case rows > 0 && !l.waiting:
		l.waiting = true
	default:
		return
	}
	select {
	case l.wake <- struct{}{}:
	default: // it is told already
	}
}

// watch makes the checkpoints that are due, until Close.
func (l *Ledger) watch() {
	defer close(l.stopped)
	timer := time.NewTimer(CheckpointEvery)
	timer.Stop()
	defer timer.Stop()
	armed := false
	for {
		expired := false
		select {
		case <-l.stop:
			return
		case <-l.wake:
		case <-timer.C:
			armed, expired = false, true
		}
		l.signDue(expired)
		l.mu.Lock()
		waiting := l.waiting
		l.mu.Unlock()
		if waiting && !armed {
			timer.Reset(CheckpointEvery)
		} else if !waiting {
			timer.Stop()
		}
		armed = waiting
	}
}

// signDue signs the trees that are due, and the present one where the time of
// its rows is over. What fails is tried again with the next.
func (l *Ledger) signDue(expired bool) {
	l.mu.Lock()
	due := l.due
	l.due = nil
	if expired {
		due = append(due, l.written.head())
	}
	l.mu.Unlock()
	for _, h := range due {
		if _, err := l.sign(context.Background(), h); err != nil {
			l.log.Error("checkpoint of the audit ledger failed", "rows", h.size, "error", err)
			l.mu.Lock()
			l.waiting = true
			l.mu.Unlock()
		}
	}
}
