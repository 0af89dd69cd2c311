// Package face has what the faces of a venue on a port have in common, so that no two of
// them say different things of the same call: who calls ([Door.Caller]), what became of a
// call that failed ([Problem], RFC 9457), and events as they come ([Stream]).
package face
