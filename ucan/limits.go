package ucan

import "time"

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
	// Skew is how far the clocks of two machines may be apart; it widens every
	// time bound at both ends. 0 is none: a token is valid while now <= exp.
	Skew time.Duration
}

const (
	maxChain = 16
	// maxNesting bounds values inside a token (CBOR and JSON alike).
	maxNesting = 32
)

func orDefault(n, def int) int {
	if n <= 0 {
		return def
	}
	return n
}

func (l Limits) tokenBytes() int   { return orDefault(l.TokenBytes, 8<<10) }
func (l Limits) jwtBytes() int     { return orDefault(l.JWTBytes, 64<<10) }
func (l Limits) chainDepth() int   { return min(orDefault(l.ChainDepth, maxChain), maxChain) }
func (l Limits) jwtDepth() int     { return min(orDefault(l.JWTDepth, 8), l.chainDepth()) }
func (l Limits) capabilities() int { return orDefault(l.Capabilities, 64) }
func (l Limits) proofs() int       { return orDefault(l.Proofs, 16) }
func (l Limits) search() int       { return orDefault(l.Search, 1<<20) }

func (l Limits) life() time.Duration {
	if l.Life == 0 {
		return 366 * 24 * time.Hour
	}
	return l.Life
}

func (l Limits) invocationLife() time.Duration {
	if l.InvocationLife == 0 {
		return 5 * time.Minute
	}
	return l.InvocationLife
}
