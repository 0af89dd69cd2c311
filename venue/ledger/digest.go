package ledger

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"sync"

	"usher/tools"
	"usher/ucan"
)

// digester makes the digests of inputs. They are keyed, since an input can be a
// short secret that a plain digest would give away to whoever tries them all,
// and differ from owner to owner and from operation to operation, so that
// nobody can try them by calls of their own. Equal inputs of one owner to one
// operation show as equal.
type digester struct{ pool *sync.Pool }

// newDigester derives the key from the venue's: a signature that is made for
// nothing else and shown to nobody.
func newDigester(key ucan.Key) (digester, error) {
	secret, err := hkdf.Key(sha256.New, key.Sign([]byte("usher audit ledger: key of the digests of inputs")), nil, "usher audit input digest", sha256.Size)
	if err != nil {
		return digester{}, err
	}
	return digester{&sync.Pool{New: func() any { return hmac.New(sha256.New, secret) }}}, nil
}

// of is the digest of an entry's input, "" where it has none.
func (d digester) of(e *tools.Entry) string {
	if e.Input == nil {
		return ""
	}
	mac := d.pool.Get().(hash.Hash)
	defer d.pool.Put(mac)
	mac.Reset()
	var b [256]byte
	head := append(append(append(append(b[:0], e.Owner...), 0), e.Operation...), 0)
	mac.Write(head)
	mac.Write(e.Input)
	return hex.EncodeToString(mac.Sum(b[:0]))
}
