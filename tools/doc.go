// Package tools says what can be done, and lets it be done only through the gate.
//
// An [Operation] is a typed function with its needs beside it: which abilities
// on which resources a given input requires. [New] makes one, [Registry.Register]
// takes it in, and refuses it when it declares no needs.
//
// [Gate.Invoke] is the one way to run an operation. It resolves the reference,
// validates the input, asks the operation for all its requirements, checks each
// against the [Authority] as it stands at that moment, writes the decision to
// the [Ledger], and only then runs the handler, which receives a [Call] that
// nothing but the gate can fill. An [Authority] comes from the [Mint] that was
// made with the gate, and is derived from there by narrowing alone.
package tools
