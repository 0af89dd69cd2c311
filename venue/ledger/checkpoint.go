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
	"usher/venue/store"
)

// Checkpoint is a tree that the venue has signed.
type Checkpoint struct {
	Size uint64
	Root tlog.Hash
	Note string // as it was signed: a C2SP signed note, whose origin and key name are the venue's DID
}

func (c *Checkpoint) head() head { return head{c.Size, c.Root} }

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

// text is what a checkpoint of the tree says.
func (h head) text(origin string) string {
	return fmt.Sprintf("%s\n%d\n%s\n", origin, h.size, h.root)
}

func parseHead(text string) (h head, err error) {
	lines := strings.Split(text, "\n")
	if len(lines) < 4 {
		return h, errors.New("it is a signed note of something else")
	}
	if h.size, err = strconv.ParseUint(lines[1], 10, 64); err == nil {
		h.root, err = tlog.ParseHash(lines[2])
	}
	if err != nil {
		err = fmt.Errorf("it is a signed note of something else: %w", err)
	}
	return h, err
}

// notes takes a text of notes apart: each begins with the line of the origin.
func notes(text, origin string) (all []string) {
	rest := strings.Trim(text, "\n") + "\n"
	for rest != "\n" && rest != "" {
		end := strings.Index(rest, "\n"+origin+"\n")
		if end < 0 {
			end = len(rest) - 1
		}
		all = append(all, strings.TrimRight(rest[:end], "\n")+"\n")
		rest = rest[end+1:]
	}
	return all
}

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
		if _, err := parseHead(signed.Note.Text); err != nil {
			return err
		}
	}
	return nil
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
	h, err := parseHead(signed.Text)
	if err != nil || h.size > maxSize || h.text(r.venue.String()) != signed.Text {
		return c, fmt.Errorf("%w: %s signed what is no checkpoint of its ledger", ErrBroken, r.venue)
	}
	return Checkpoint{h.size, h.root, text}, nil
}

// openAt reads a checkpoint that the store holds under its size.
func (r *Reader) openAt(row store.Row) (c Checkpoint, err error) {
	if c, err = r.open(string(row.Value)); err == nil && row.Key != signKey(c.Size) {
		err = fmt.Errorf("%w: a checkpoint of %d rows stands in another's place", ErrBroken, c.Size)
	}
	return c, err
}

// newest is the last checkpoint in the store; zero where there is none.
func (r *Reader) newest(ctx context.Context) (c Checkpoint, err error) {
	rows, _, err := r.view.PageBack(ctx, signPrefix, "", 1)
	if err != nil || len(rows) == 0 {
		return c, err
	}
	return r.openAt(rows[0])
}

// checkpoints reads all checkpoints of the store.
func (r *Reader) checkpoints(ctx context.Context) (all []Checkpoint, err error) {
	for row, err := range store.Rows(ctx, r.view, signPrefix, "") {
		var c Checkpoint
		if err == nil {
			c, err = r.openAt(row)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// covers checks that the ledger of so many rows continues a checkpoint. A zero
// checkpoint is continued by every ledger.
func (r *Reader) covers(ctx context.Context, rows uint64, c Checkpoint) error {
	if c.Size > rows {
		return rollbackError(c.Size, rows)
	}
	if c.Size == 0 {
		return nil
	}
	return continues(Checkpoint{}, c, r.hashes(ctx))
}

func rollbackError(signed, rows uint64) error {
	return fmt.Errorf("%w: a checkpoint was signed over %d rows, and there are %d: it was rolled back or cut", ErrBroken, signed, rows)
}

func rewriteError(signed uint64) error {
	return fmt.Errorf("%w: its first %d rows are not those that a checkpoint was signed over: they were rewritten, or this is a fork", ErrBroken, signed)
}

// How often checkpoints come, when there are new rows.
const (
	checkpointRows  = 1000
	checkpointEvery = time.Minute
)

// Checkpoint signs the tree as it is now, and returns the newest checkpoint.
func (l *Ledger) Checkpoint(ctx context.Context) (Checkpoint, error) {
	return l.sign(ctx, l.end())
}

// LastCheckpoint is the newest checkpoint that is signed; the zero value where none is.
func (l *Ledger) LastCheckpoint() Checkpoint {
	l.signing.Lock()
	defer l.signing.Unlock()
	return l.last
}

// end is the tree as it is now.
func (l *Ledger) end() head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.written.head()
}

// sign signs a tree, unless a later one is signed already, and hands the
// checkpoint to the couriers.
func (l *Ledger) sign(ctx context.Context, h head) (Checkpoint, error) {
	l.signing.Lock()
	defer l.signing.Unlock()
	if l.last.Note != "" && h.size <= l.last.Size {
		return l.last, nil
	}
	text, err := note.Sign(&note.Note{Text: h.text(l.venue.String())}, l.signer)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("make checkpoint: %w", err)
	}
	if l.readOnly {
		return Checkpoint{h.size, h.root, string(text)}, nil
	}
	if _, err := l.store.Apply(ctx, nil, map[string][]byte{signKey(h.size): text}, nil); err != nil {
		return Checkpoint{}, fmt.Errorf("keep checkpoint: %w", err)
	}
	l.last = Checkpoint{h.size, h.root, string(text)}
	l.mu.Lock()
	l.marked = max(l.marked, h.size)
	l.wait(l.written.size > l.marked)
	l.mu.Unlock()
	for _, c := range l.couriers {
		c.send(l.last)
	}
	return l.last, nil
}

// wait says whether there are rows that wait for a checkpoint, which comes when
// the first of them has waited for its time. The caller holds l.mu.
func (l *Ledger) wait(waiting bool) {
	switch {
	case !waiting:
		l.timer.Stop()
	case !l.waiting:
		l.timer.Reset(checkpointEvery)
	}
	l.waiting = waiting
}

// mark says that new rows need a checkpoint: at once, or within its time. The
// caller holds l.mu.
func (l *Ledger) mark() {
	switch rows := l.written.size - l.marked; {
	case rows >= checkpointRows:
		l.due = append(l.due, l.written.head())
		l.marked = l.written.size
		l.wait(false)
		select {
		case l.wake <- struct{}{}:
		default: // it is told already
		}
	case rows > 0:
		l.wait(true)
	}
}

// watch makes the checkpoints that are due, until Close. What fails is tried
// again with the next.
func (l *Ledger) watch() {
	defer close(l.stopped)
	defer l.timer.Stop()
	for {
		var due []head
		select {
		case <-l.stop:
			return
		case <-l.wake:
			l.mu.Lock()
			due, l.due = l.due, nil
			l.mu.Unlock()
		case <-l.timer.C:
			due = []head{l.end()}
		}
		for _, h := range due {
			if _, err := l.sign(context.Background(), h); err != nil {
				l.log.Error("checkpoint of the audit ledger failed", "rows", h.size, "error", err)
				l.mu.Lock()
				l.waiting = true
				l.timer.Reset(checkpointEvery)
				l.mu.Unlock()
			}
		}
	}
}
