// Package mcp is the face of a venue for clients of the Model Context Protocol. [New]
// returns its handler, and [Stdio] serves one client over a pair of pipes.
//
// Both generations of the protocol are spoken at one address: 2026-07-28, where each
// request stands alone, and 2025-11-25 and older, where a session begins with initialize.
// The tools are the operations of which some input would be allowed to the caller, and
// ask_<agent> for each agent that the caller may message. Each call goes through the gate
// with the authority that the request itself bears; a session lends none.
package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/tools/fault"
	"usher/venue/face"
)

// Path is where the face lies.
const Path = "/mcp"

// modern is the first version of the protocol without sessions.
const modern = "2026-07-28"

// Bounds of what a client sends and keeps.
const (
	maxFirst = 64 << 10         // bytes of one that begins a session, which keeps what the client says of itself
	maxBatch = 32               // messages in one body, which versions before 2025-06-18 allow
	idleTime = 30 * time.Minute // without a request, until a session ends
)

// Options says how to serve. Nil and the zero value are valid.
type Options struct {
	Logger *slog.Logger // nil discards

	// Prompts and Resources are offered beside those of the venue, and Work says of
	// operations, by their paths, that they take long, beside the built-in ones that do.
	Prompts   []Prompt
	Resources []Resource
	Work      map[string]Work

	// Below offers the operations below a path alone, by the rest of their paths, such as
	// "mcp/files/": what stands before one server has its tools by their own names. Empty
	// offers all, and agents.
	Below string
}

// Face is the handler. It is safe for concurrent use. [Face.Close] ends its sessions.
type Face struct {
	*desk
	door     *face.Door
	stateful http.Handler // one request after another in a session
	single   http.Handler // each request for itself
	sessions sessions
}

// New returns the face of the door's venue.
func New(door *face.Door, o *Options) (*Face, error) {
	d, err := newDesk(door.Venue.Name(), o)
	if err != nil {
		return nil, err
	}
	f := &Face{desk: d, door: door}
	known := auth.RequireBearerToken(tokenInfo, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})
	f.stateful = known(sdk.NewStreamableHTTPHandler(f.server, &sdk.StreamableHTTPOptions{DisableLocalhostProtection: true, SessionTimeout: idleTime, MaxRequestBodyBytes: face.MaxBody}))
	f.single = known(sdk.NewStreamableHTTPHandler(f.server, &sdk.StreamableHTTPOptions{DisableLocalhostProtection: true, Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: face.MaxBody}))
	return f, nil
}

// Close ends all sessions. What they have under way comes to its end first, or is cut with
// its requests.
func (f *Face) Close() { f.sessions.close() }

// ServeHTTP answers a request.
func (f *Face) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := f.serve(w, r); err != nil {
		face.Of(err).WriteTo(w, challenge(r))
	}
}

func (f *Face) serve(w http.ResponseWriter, r *http.Request) error {
	if err := f.door.Page(r); err != nil {
		return err
	}
	if err := f.door.Host(r); err != nil { // also of who shows a token, as the protocol's clients expect
		return err
	}
	p, err := f.door.Caller(r)
	if err != nil {
		return err
	}
	raw, messages, err := body(w, r)
	for n := 1; n < messages && err == nil; n++ { // each is a request
		err = p.Again()
	}
	if err != nil {
		return err
	}
	c := &caller{Principal: p.AsRelay(), person: p, request: r.Context()}
	r = r.Clone(context.WithValue(r.Context(), callerKey{}, c))
	r.Body = io.NopCloser(bytes.NewReader(raw))
	// The SDK wants a bearer token of everybody, and keeps heads: it gets to see none.
	r.Header.Set("Authorization", "Bearer known")
	r.Header.Del(face.ProofsHeader)
	w = &stream{ResponseWriter: w, control: http.NewResponseController(w)}
	switch {
	case r.Header.Get("Mcp-Protocol-Version") >= modern:
		c.modern = true
		return f.follow(w, r, f.single)
	case r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "":
		if len(raw) > maxFirst {
			return fault.New(fault.TooLarge, fmt.Sprintf("the body is too large to begin a session with: at most %d bytes are read", maxFirst))
		}
		return f.sessions.begin(p.Place(), p.Guest(), func(s *slot) {
			c.slot = s
			f.stateful.ServeHTTP(w, r)
		})
	}
	return f.follow(w, r, f.stateful)
}

var errBatch = fault.New(fault.TooLarge, fmt.Sprintf("the body is no list of at most %d messages: send them one by one", maxBatch))

// body reads what a client sends, and counts its messages.
func body(w http.ResponseWriter, r *http.Request) (raw []byte, messages int, err error) {
	if raw, err = face.Body(w, r); err != nil {
		return nil, 0, err
	}
	messages = 1
	if trimmed := bytes.TrimSpace(raw); len(trimmed) > 0 && trimmed[0] == '[' {
		err := face.Each(trimmed, func(n int, _ *json.RawMessage) error {
			if messages = n + 1; n >= maxBatch {
				return errBatch
			}
			return nil
		})
		if err != nil {
			return nil, 0, errBatch
		}
	}
	return raw, messages, nil
}
