package ucan

import (
	"cmp"
	"time"
)

// Limits bounds what is read and believed. The zero value holds the limits of
// the design; each field states its own zero.
type Limits struct {
	TokenBytes   int // bytes of a native token; 0 is 8 KiB
	JWTBytes     int // bytes of a JWT with its inline proofs; 0 is 64 KiB
	ChainDepth   int // tokens in a chain; 0 is 16, which is also the most
	JWTDepth     int // tokens in a chain of JWT proofs; 0 is 8
	Capabilities int // capabilities of one token; 0 is 64
	Proofs       int // proofs that one JWT or one query names; 0 is 16
	Search       int // stored tokens that one proof search looks at; 0 is 1,048,576

	// Life is how far in the future a delegation may expire. 0 is 366 days.
	// Negative sets no bound and takes tokens that never expire.
	Life time.Duration
	// InvocationLife is how far in the future an invocation may expire. 0 is
	// five minutes. Negative sets no bound, for replaying recorded ones.
	InvocationLife time.Duration
}

const (
	maxChain = 16
	// maxNesting bounds values inside a token (CBOR and JSON alike).
	maxNesting = 32
)

func (l Limits) tokenBytes() int   { return cmp.Or(l.TokenBytes, 8<<10) }
func (l Limits) jwtBytes() int     { return cmp.Or(l.JWTBytes, 64<<10) }
func (l Limits) chainDepth() int   { return min(cmp.Or(l.ChainDepth, maxChain), maxChain) }
func (l Limits) jwtDepth() int     { return min(cmp.Or(l.JWTDepth, 8), l.chainDepth()) }
func (l Limits) capabilities() int { return cmp.Or(l.Capabilities, 64) }
func (l Limits) proofs() int       { return cmp.Or(l.Proofs, 16) }
func (l Limits) search() int       { return cmp.Or(l.Search, 1<<20) }

func (l Limits) life() time.Duration           { return cmp.Or(l.Life, 366*24*time.Hour) }
func (l Limits) invocationLife() time.Duration { return cmp.Or(l.InvocationLife, 5*time.Minute) }
