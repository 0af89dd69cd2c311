package care

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"filippo.io/age"
)

// Lock says who can read a backup: whoever has the passphrase, or the identity of a
// recipient, or, where Plain says so, everybody.
type Lock struct {
	Passphrase string
	Recipients []age.Recipient
	Plain      bool

	work int // of a passphrase, as a power of two; 0: as much as age takes
}

var errUnlocked = errors.New("a backup holds the key of the venue and all its secrets: give a passphrase or a recipient, or say that it is to be plain")

// seal returns what encrypts to out, and the identity by which it is read back: of
// recipients nobody here has theirs, so that one is made for the occasion, and
// forgotten.
func (l *Lock) seal(out io.Writer) (w io.WriteCloser, back []age.Identity, err error) {
	switch {
	case l.Plain:
		return nopCloser{out}, nil, nil
	case len(l.Recipients) > 0:
		var to age.Recipient
		var with age.Identity
		if _, quantum := l.Recipients[0].(*age.HybridRecipient); quantum {
			id, err := age.GenerateHybridIdentity()
			if err != nil {
				return nil, nil, err
			}
			to, with = id.Recipient(), id
		} else {
			id, err := age.GenerateX25519Identity()
			if err != nil {
				return nil, nil, err
			}
			to, with = id.Recipient(), id
		}
		w, err = age.Encrypt(out, append([]age.Recipient{to}, l.Recipients...)...)
		return w, []age.Identity{with}, err
	case l.Passphrase != "":
		to, err := age.NewScryptRecipient(l.Passphrase)
		if err != nil {
			return nil, nil, err
		}
		if l.work > 0 {
			to.SetWorkFactor(l.work)
		}
		with, err := age.NewScryptIdentity(l.Passphrase)
		if err != nil {
			return nil, nil, err
		}
		w, err = age.Encrypt(out, to)
		return w, []age.Identity{with}, err
	}
	return nil, nil, errUnlocked
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// ParseRecipients reads recipients of age, one a line.
func ParseRecipients(text string) ([]age.Recipient, error) {
	return age.ParseRecipients(strings.NewReader(text))
}

// Key opens a backup.
type Key struct{ identities []age.Identity }

// PassphraseKey opens what was locked with a passphrase.
func PassphraseKey(passphrase string) (Key, error) {
	id, err := age.NewScryptIdentity(passphrase)
	return Key{[]age.Identity{id}}, err
}

// IdentityKey opens what was locked for a recipient; text is a file of identities of
// age.
func IdentityKey(text string) (Key, error) {
	ids, err := age.ParseIdentities(strings.NewReader(text))
	return Key{ids}, err
}

var errLocked = errors.New("the backup is encrypted: give the passphrase, or an identity of its recipient")

const sealedMark = "age-encryption.org/"

// IsLocked reports whether a backup that begins with these bytes is encrypted.
func IsLocked(start []byte) bool { return bytes.HasPrefix(start, []byte(sealedMark)) }

// open returns what a backup holds.
func (k Key) open(in io.ReadSeeker) (io.Reader, error) {
	start := make([]byte, len(sealedMark))
	n, err := io.ReadFull(in, start)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	if !IsLocked(start[:n]) {
		return in, nil
	}
	if len(k.identities) == 0 {
		return nil, errLocked
	}
	out, err := age.Decrypt(in, k.identities...)
	if _, wrong := errors.AsType[*age.NoIdentityMatchError](err); wrong {
		return nil, errors.New("the backup is not opened by this passphrase or identity")
	}
	if err != nil {
		return nil, fmt.Errorf("the backup was cut or damaged: %w", err)
	}
	return out, nil
}
