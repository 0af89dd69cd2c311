// Package agentauth is the face of a venue for agents from elsewhere, by the Agent-Auth
// protocol: discovery, /agent/*, /host/* and /capability/*, and the page on which a person
// approves. [New] returns it. It translates, and decides nothing: the room of visitors says
// who calls and what they may, and the gate lets the call through.
package agentauth
