// Package mcp makes operations of the tools of MCP servers: mcp/<server>/<tool>. A [Server]
// is what a configuration says of one; [New] returns the [Servers] of a user, and
// [Servers.Set] brings them to a configuration.
//
// What a call requires is computed from the configuration alone: a [Line] gives tools
// their ability, and templates over the input for their resources. Without a line a tool
// requires invoke on mcp/<server>/<tool>. Nothing that a server says about itself counts.
//
// The tools are pinned: their names, descriptions and schemas are kept by a [Keeper], so
// that no server has to run before it is called. The first listing of a server is taken
// as it is, since somebody has just configured it. What a later listing has in another
// way, or anew, is withdrawn until a person accepts it.
//
// A server is somebody else's program. It is started when it is first called, and again
// with backoff; what it may send is bounded, and so is the time of its calls. One that
// hangs, dies, floods or lies harms its own calls alone. Its texts are marked as its own
// words where a model reads them.
//
// With [Server.Root] the paths of an input are resolved through links before they are
// resources, and what is sent is the path that was resolved. Between the check and the
// use somebody else who may change links below the root can still lead the server
// elsewhere: give that right only to those who may do as much as the server.
package mcp
