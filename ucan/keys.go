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
//	v/<cid><revoker>           a signed revocation
//	n/<issuer><sha256 nonce>   an invocation that was used
//	x/<expiry><key>            tokens, revocations and uses by when they may go
//	swept                      up to when the last sweep was to go, in seconds
const (
	keyToken      = "t/"
	keyAudience   = "a/"
	keyRetired    = "r/"
	keyIssuer     = "i/"
	keyRevocation = "v/"
	keyUsed       = "n/"
	keyExpiry     = "x/"
	keySwept      = "swept"

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

// issuerPlace is the token's place below keyIssuer.
func (l *Link) issuerPlace() string { return l.Issuer.key() + l.CID.short() }

// expiryKey is where the key of what may go after a time is listed.
func expiryKey(expiry int64, key string) string { return keyExpiry + timeKey(expiry) + key }
