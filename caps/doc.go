// Package caps says what may be done: it holds the values that an
// authorisation decision is made of, and makes the decision.
//
// A [Capability] grants an [Ability] on a [Resource]. A [Set] is a compiled,
// immutable list of them. [Set.Check] decides a [Request] and returns a
// [Decision], which carries its own explanation: [Decision.By] when it was
// allowed, [Decision.Denial] when it was not.
//
// Call [ParseSet] first, or [Of] with [MustCapability] for literals; then
// [Need] for what a call requires, and [Set.Check]:
//
//	set, err := caps.ParseSet([]byte(`[{"with":"w/","can":"crud/read"}]`))
//	d := set.Check(caps.Need("crud/read", "w/notes/today"))
//	if !d.Allowed() {
//		return d.Denial("covia:read")
//	}
//
// Everything here is a value: nothing reads a clock, a file or a network, and
// nothing changes after it was made, so all of it may be shared freely.
//
// The zero values are safe. A zero [Set] denies everything, a zero [Request] is
// never allowed, a zero [Decision] is a denial, a zero [Ability] covers nothing.
// [Unrestricted] has to be called by name; the null of COG-13 becomes it in
// [ParseSet] and in [Declared], nowhere else.
//
// Matching is by segment in both parts: w/vendor does not cover w/vendor-secret
// and crud does not cover crudx. Each resource has one canonical form, and a
// text that is not canonical is an error, never a denial and never repaired;
// [ParseResource] lists the rules.
package caps
