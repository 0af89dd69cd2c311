// Package runtime is how a turn runs: an agent hears something, its model is
// asked, the tools that it asks for pass the gate, and so on until it answers.
//
// [New] makes a [Runner] before a gate; [Runner.Turn] runs one turn of an
// [Agent] in a [Session] and yields each [Event] while it happens. A session is
// its log of events: what the conversation is follows from it alone, also after
// a crash (session.go), and when it has outgrown the model's window (window.go,
// compact.go, memory.go). Calls of one answer run side by side where that makes
// no difference (batch.go).
//
// A model is a [Model]: one method. Providers stand in folders of their own
// (offline, openai, anthropic) over what they have in common (endpoint); models
// over models in wrap; traces and metrics in telemetry.
package runtime
