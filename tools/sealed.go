package tools

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

const redacted = "[redacted]"

// Sealed declares that the input or the output of the operation holds a secret.
// The ledger keeps no digest of its input, by which a weak secret could be
// guessed, a panic of its handler is told without what it says, and whoever
// records calls leaves out what went in and came out.
func Sealed() Option { return func(o *Operation) { o.sealed, o.undigested = true, true } }

// Undigested declares that the ledger keeps no digest of the operation's input:
// for one whose input carries that of another call, which has a row of its own.
func Undigested() Option { return func(o *Operation) { o.undigested = true } }

// Sealed reports whether what goes in and comes out may not be recorded.
func (o *Operation) Sealed() bool { return o.sealed }

// digest is what the ledger keeps of an input.
func (o *Operation) digest(input json.RawMessage) string {
	if o.undigested {
		return ""
	}
	sum := sha256.Sum256(input)
	return hex.EncodeToString(sum[:])
}
