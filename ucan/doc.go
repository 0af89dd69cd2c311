// Package ucan says who said so: it holds keys and their DIDs, reads and signs
// delegations, and decides whether a chain of them carries the authority for a
// request.
//
// Call [Open] for a token that arrived and [Verifier.Authorize] for the verdict;
// [Issuer.Delegate] hands authority on; [NewKey] makes a principal and
// [ParseDID] names another:
//
//	store, err := ucan.OpenStore(ctx, kv)
//	v := &ucan.Verifier{Self: venue, Store: store}
//	grant, err := v.Authorize(ctx, ucan.Query{
//		Caller:  bob,
//		Request: caps.Need("crud/read", alice.String()+"/w/reports/q3"),
//	})
//
// # Two formats, one link, one walker
//
// A delegation is written as UCAN 1.0 (a sealed DAG-CBOR envelope, [Native]) or as
// COG-13's JWT ([JWT]). Both are read into a [Link], chains may mix them, and one
// walker follows them. The parts correspond:
//
//	COG-13                     UCAN 1.0
//	can "crud/read"            cmd "/crud/read"
//	can "*"                    cmd "/"
//	with "did:key:zA/w/x"      pol [["or",[["==",".with",R],["like",".with",R+"/*"]]]]
//	with "" or "did:key:zA"    pol [] and sub "did:key:zA"
//	the owner                  sub; a venue that issues for an owner is itself sub
//	prf, inline or by CID      named by whoever invokes, or found in the store
//
// A bare resource in a JWT is in the namespace of the root issuer of its chain,
// where that is not this venue. A native token holds one capability, a JWT a list.
// The CID of a token is that of its exact bytes: dag-cbor for the envelope, raw
// for the text of a JWT.
//
// # What is believed
//
// Only did:key with Ed25519 names anybody; nothing here calls the network. Every
// token has one spelling, and another one is refused ([ErrNotCanonical]): the
// signature is that of the bytes that came, so a revoked token cannot return under
// a new CID. One reader reads sealed tokens, strictly and within bounds; it refuses
// delegations without a subject ("powerlines"), and selectors that are optional or
// slices. Policies beyond a resource are matched by the specification. go-ucan writes
// the sealed tokens that are issued here, and they are opened like everybody else's
// before they leave. It neither reads nor authorises: it is the oracle of the tests,
// and nothing that it refuses is allowed here.
//
// A link on its own grants nothing: [Verifier.Authorize] says what is verified of each
// token of a chain. Every refusal is one of the sentinel errors, in a [VerifyError]
// that names the token.
//
// A native link that names no resource passes on what its proof gives. What counts
// and is shown is what a chain gives: [Grant.By], [Verifier.Holdings],
// [Verifier.Effective]. A token that agents signed with the issuer's key names them,
// and counts as far as [Verifier.Signer] says that they go. Caveats are refused.
//
// A search for a chain looks at each principal once for each thing that it would
// have to hold, the shortest chains first, so that tokens which lead nowhere cost
// little however many there are. One that is cut short all the same says so
// ([ErrBudget]).
//
// # Caveats
//
// A [Store] keeps all revocations and the tokens of recent audiences in memory and
// expects to be the only writer of its keys. The KV, [Verifier.Roots] and
// [Verifier.Signer] are called without the lock that guards the memory.
package ucan
