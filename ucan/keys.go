package ucan

import (
	"crypto/sha256"
	"encoding/binary"
)

// Keys of the store, below its prefix. DIDs stand as their 32-byte keys, CIDs as
// one byte of codec and the digest, times as big-endian seconds, so that scans
// come in order of time.
//
//	t/<cid>                    the token
//	a/<audience><expiry><cid>  tokens made out to somebody
//	r/<audience><expiry><cid>  those of them that are revoked for good
//	i/<issuer><cid>            tokens issued by somebody
//	x/<expiry><cid>            tokens by expiry
//	v/<cid><revoker>           a signed revocation
//	w/<expiry><cid><revoker>   revocations by the expiry of what they revoke
//	n/<issuer><sha256 nonce>   an invocation that was used
//	y/<expiry><issuer><nonce>  the same by expiry
//	swept                      up to when the last sweep was to go, in seconds
const (
	keyToken        = "t/"
	keyAudience     = "a/"
	keyRetired      = "r/"
	keyIssuer       = "i/"
	keyExpiry       = "x/"
	keyRevocation   = "v/"
	keyRevExpiry    = "w/"
	keyUsed         = "n/"
	keyUsedByExpiry = "y/"
	keySwept        = "swept"

	shortCID = 1 + sha256.Size
	keySize  = 32
)

// never is the expiry under which tokens without one are listed.
const never = maxInt53

// unknownExpiry is the one under which revocations of tokens that are not stored
// are listed; those of stored ones come before it.
const unknownExpiry = never + 1

func (c CID) short() string { return string(c.codec) + string(c.hash[:]) }

func cidFromShort(b []byte) CID { return CID{b[0], [sha256.Size]byte(b[1:])} }

func didFromKey(b []byte) DID { return didOf(b) }

func (d DID) key() string { return string(d.PublicKey()) }

func timeKey(seconds int64) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(seconds)))
}

// expiry is the second after which the token is dead weight.
func (l *Link) expiry() int64 {
	if l.eternal {
		return never
	}
	return l.exp
}

// audiencePlace is the token's place below keyAudience or keyRetired.
func (l *Link) audiencePlace() string { return l.aud.key() + timeKey(l.expiry()) + l.cid.short() }

// indexKeys lists the keys that hold nothing but the token's place, the one by its
// audience excepted.
func (l *Link) indexKeys() [2]string {
	c := l.cid.short()
	return [2]string{keyIssuer + l.iss.key() + c, keyExpiry + timeKey(l.expiry()) + c}
}
