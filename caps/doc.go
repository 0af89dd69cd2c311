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
// A capability may be on [Terms]. Then Check leaves the decision open where they bear
// on the request, and [Decision.Settle] decides it by the [Facts] of the call: a
// denial comes first, then what holds without asking, then what holds after asking a
// person.
//
//   - A limit (when) that the input does not surely meet allows nothing: a missing
//     pointer, another type, a key that stands beside another spelling of it. So does
//     not_in. Numbers are compared exactly; one that only floating point would take for
//     within or for equal is not told apart, and so neither met nor excluded.
//   - A denial covers what lies below its resource and what contains it, and abilities
//     below and above its own; a request without a resource it covers where it is on the
//     root. It stands unless one of its limits surely does not hold, until its end.
//   - Sets meet by conjunction: limits add up, the earlier end counts, either asks, and
//     each denial stays. A set hands on what is on at least its own terms
//     ([Set.Gaps]), with its denials ([Set.WithDenials]).
//   - Values are compared as JSON values: what names a place belongs into with, not into
//     a limit on a path.
//
// Everything here is a value: nothing reads a clock, a file or a network, and
// nothing changes after it was made, so all of it may be shared freely.
//
// The zero values are safe. A zero [Set] denies everything, a zero [Request] is
// never allowed, a zero [Decision] is a denial, a zero [Ability] covers nothing.
// [Unrestricted] has to be called by name; the null of COG-13 becomes it in
// [ParseSet] and in [Declaration], nowhere else.
//
// Matching is by segment in both parts: w/vendor does not cover w/vendor-secret
// and crud does not cover crudx. Each resource has one canonical form, and a
// text that is not canonical is an error, never a denial and never repaired;
// [ParseResource] lists the rules.
package caps
