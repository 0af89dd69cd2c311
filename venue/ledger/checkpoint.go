package ledger

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

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

// signed reads all checkpoints of the store.
func (r *Reader) signed(ctx context.Context) (all []Checkpoint, err error) {
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
		return rolledBack(c.Size, rows)
	}
	if c.Size == 0 {
		return nil
	}
	return continues(Checkpoint{}, c, r.hashes(ctx))
}

func rolledBack(signed, rows uint64) error {
	return fmt.Errorf("%w: a checkpoint was signed over %d rows, and there are %d: it was rolled back or cut", ErrBroken, signed, rows)
}

func rewritten(signed uint64) error {
	return fmt.Errorf("%w: its first %d rows are not those that a checkpoint was signed over: they were rewritten, or this is a fork", ErrBroken, signed)
}
