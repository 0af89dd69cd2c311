package ucan

import (
	"encoding/binary"
	"math"
)

// Keys of the store, below its prefix. DIDs stand as their 32-byte keys, CIDs in
// binary, times as big-endian seconds, so that scans come in order of time.
//
//	t/<cid>                    the token
//	a/<audience><expiry><cid>  tokens made out to somebody
//	i/<issuer><cid>            tokens issued by somebody
//	v/<cid><revoker>           a signed revocation
//	f/<number><cid><revoker>   revocations in the order in which they came
//	u/<revoker><cid>           those of tokens that were not known here
//	n/<issuer><sha256 nonce>   an invocation that was used
//	x/<expiry><key>            tokens by when they may go
const (
	keyToken      = "t/"
	keyAudience   = "a/"
	keyIssuer     = "i/"
	keyRevocation = "v/"
	keyFeed       = "f/"
	keyUnknown    = "u/"
	keyUsed       = "n/"
	keyExpiry     = "x/"

	keySize = 32
)

// never is the expiry of a token without one.
const never = math.MaxInt64 - 1

func (c CID) key() string { return string(c.Bytes()) }

func (d DID) key() string { return string(d.PublicKey()) }

func timeKey(seconds int64) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(seconds)))
}

// expiryKey is where the key of a token is listed that may go after a time.
func expiryKey(expiry int64, key string) string { return keyExpiry + timeKey(expiry) + key }

// indexed lists the keys below which a token can be found.
func (l *Link) indexed() []string {
	c := l.CID.key()
	return []string{keyAudience + l.Audience.key() + timeKey(l.exp) + c, keyIssuer + l.Issuer.key() + c}
}
