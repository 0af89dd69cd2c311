// Package ucan says who said so: it holds keys and their DIDs, reads and signs
// delegations, and decides whether a chain of them carries the authority for a
// request.
//
// Call [Open] for a token that arrived and [Verifier.Authorize] for the verdict;
// [Issuer.Delegate] hands authority on; [NewKey] makes a principal and
// [ParseDID] names another:
//
//	store, err := ucan.OpenStore(ctx, kv, nil)
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
// a new CID. A JWT is read and signed here, with strict base64url and every key
// once.
//
// go-ucan decodes, signs and matches policies, behind a guard:
//
//   - The guard's reader comes first. It bounds size and nesting, takes strict
//     DAG-CBOR, one signature header, the known fields and Ed25519 keys, and
//     refuses delegations without a subject ("powerlines"), optional selectors and
//     slices.
//   - go-ucan then decodes the token and verifies its signature, once. The token
//     has to come out the same when it is written again, and go-ucan has to read
//     what the reader read, policy and arguments to the byte; a difference, an
//     error or a panic refuses the token. Thus an argument or a piece of metadata
//     that is null is refused, since go-ucan does not read it.
//   - Delegations and invocations are written and sealed by go-ucan, with a signer
//     that keeps the secret, and opened as above before they leave.
//   - A policy that says more than its resource is matched by go-ucan when a call
//     is decided; the guard's own matcher has to agree, where go-ucan would let the
//     caller choose an argument that passes. Either alone denies.
//
// Two things are done here: go-ucan knows the tag of release candidate 1, so the
// signature under a released tag ("ucan/dlg@1.0.0") is checked by crypto/ed25519,
// and so is that of a token from the [Store], which was confirmed before it was
// stored. go-ucan does not authorise, since its own verdict has faults that the
// tests list; it is the oracle of the folder oracle, where nothing that it refuses
// is allowed here.
//
// A link on its own grants nothing. The walker verifies, of each token of a chain:
// signature, time, lifetime, revocation; that it was made out to the issuer of the
// next; that the subject stays the same; that it is no wider than its proof in the
// resource and in the ability, even where the request would pass; and that the
// root is the owner, or a principal that [Verifier.Roots] lets speak for them.
// Every refusal is one of the sentinel errors, in a [VerifyError] that names the
// token.
//
// UCAN 1.0 would let a delegation say more than its proof, as long as the call
// satisfies both; COG-13 does not, and its rule is kept for both formats, so that
// what a token shows is what it gives. Caveats are refused.
//
// # Caveats
//
// A [Store] keeps all revocations and the tokens of recent audiences in memory and
// expects to be the only writer of its keys. The one lock is the store's; it is
// never held while the KV is called, and [Verifier.Roots] is called under it.
package ucan
