// Package schema checks JSON against JSON Schemas that nobody vouches for:
// agents write them, and models fill them in.
//
// [Compile] takes a schema, draft 2020-12 unless it says otherwise, and
// [Schema.Validate] tells in plain words what does not fit, and where. A schema
// stands on its own: nothing is ever loaded, from a network or from a disk. Its
// size, its depth and the work that it may cause are bounded, so that a hostile
// one is an error and never a stall.
//
// Whoever asks says who pays for it: compiling, validating and coercing are
// charged as they go, and end with their context.
package schema
