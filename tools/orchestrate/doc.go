// Package orchestrate makes operations out of others: a document lists steps,
// says where the input of each comes from, and runs as one operation (COG-12).
//
// [Compile] turns a document into a [Plan] or says what is wrong with it and
// what to write; [Plan.Operation] makes the plan callable; [Check] is for those
// who store documents.
//
// A value in a document is a spec:
//
//	["input", "invoice", "id"]     what the caller sent, by a path
//	[0, "record", "total"]         what step 0 returned, by a path
//	["const", ["a", "b"]]          the value as it stands
//	["concat", "INV-", [0, "id"]]  texts joined, or arrays joined
//	{"path": ["input", "path"]}    an object of specs
//	"w/notes"                      any other scalar stands for itself
//
// Steps refer to earlier steps only, so a plan always ends. Those whose inputs
// are ready run side by side. Each goes through the gate with the authority of
// the caller: a plan can do what its caller can do, step by step, and no more.
package orchestrate
