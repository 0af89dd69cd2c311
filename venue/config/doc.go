// Package config reads the configuration of a venue: one YAML file, or a folder
// of them. Call [Load], or [LoadFS] for one that is embedded in a program.
//
// Reading is strict, because a key that is not understood could be a bound that
// is then not enforced: unknown and duplicate keys, wrong types, numbers that
// YAML readers disagree on, and capabilities that are not canonical are errors,
// each with its place, the line and what to write instead. All of them are
// reported at once; each is an [*Error].
//
// [Config.Lint] finds what is well written and yet not meant: a tool that no
// capability covers, a capability that adds nothing, an agent that may do
// everything. [Schema] is for editors.
//
// Nothing here reads the environment: a setting such as env:OPENAI_API_KEY
// stays the text that it is.
package config
