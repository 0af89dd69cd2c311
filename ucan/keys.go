package ucan

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
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

// never is the expiry of a token without one.
const never = math.MaxInt64 - 1

// unknownExpiry is the one under which revocations of tokens that are not stored
// are listed; those of stored ones come before it.
const unknownExpiry = math.MaxInt64

func (c CID) short() string { return string(c.codec) + string(c.hash[:]) }

func cidFromShort(b []byte) CID { return CID{b[0], [sha256.Size]byte(b[1:])} }

func (d DID) key() string { return string(d.PublicKey()) }

func timeKey(seconds int64) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(seconds)))
}

// audiencePlace is the token's place below keyAudience or keyRetired.
func (l *Link) audiencePlace() string { return l.Audience.key() + timeKey(l.exp) + l.CID.short() }

// indexKeys lists the keys that hold nothing but the token's place, the one by its
// audience excepted.
func (l *Link) indexKeys() [2]string {
	c := l.CID.short()
	return [2]string{keyIssuer + l.Issuer.key() + c, keyExpiry + timeKey(l.exp) + c}
}
