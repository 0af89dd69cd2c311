// Package completions is the face of a venue for chat front ends, below /v1: agents as
// models, by the Chat Completions and the Responses API that OpenAI's clients speak.
// [New] returns its handler. A model is an agent of the caller's, by its id; to talk with
// it is agent:chat, and the gate decides about it as about every call.
//
// # Who said what
//
// The venue believes nobody's account of what was said. A request that names no
// conversation opens a session of its own, in which everything before the last message is
// quoted to the agent as what the caller tells, system messages and the agent's own answers
// among it. One that names a conversation goes on in the session which the venue has of it:
// there only what comes after the last answer is told, and the rest the venue knows itself.
// A conversation is named by metadata.conversation (Chat Completions), or by conversation or
// previous_response_id (Responses). Its name is no secret between callers who are one
// principal: whoever of them knows it goes on in it.
//
// # Turns
//
// Tools are called inside the venue, and never handed to the client; Responses show them as
// items of type mcp_call to callers who may look at the run. A turn ends with its request: who
// leaves stops it. One whose request carries an Idempotency-Key is to be done once, whoever
// hears it: it goes on when its client has left, an hour at most, and is told to who comes back.
// One that waits for the approval of a person ends the answer with a text that says so, and goes
// on by itself when that is there.
package completions

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"usher/tools"
	"usher/tools/fault"
	"usher/venue"
	"usher/venue/face"
)

// Prefix is where the face lies.
const Prefix = "/v1"

// Face is the handler. It is safe for concurrent use.
type Face struct {
	door *face.Door
	mux  *http.ServeMux
}

// New returns the face of the door's venue.
func New(door *face.Door) *Face {
	f := &Face{door: door, mux: http.NewServeMux()}
	for _, rt := range []struct {
		pattern string
		serve   serve
	}{
		{"GET " + Prefix + "/models", f.models},
		{"GET " + Prefix + "/models/{id}", f.model},
		{"POST " + Prefix + "/chat/completions", f.chat},
		{"POST " + Prefix + "/responses", f.respond},
		{"GET " + Prefix + "/responses/{id}", f.response},
		{"POST " + Prefix + "/responses/{id}/cancel", f.cancel},
		{"DELETE " + Prefix + "/responses/{id}", f.remove},
	} {
		f.mux.HandleFunc(rt.pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := f.answer(rt.serve, w, r); err != nil {
				refuse(w, r, err)
			}
		})
	}
	f.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { refuse(w, r, errNoRoute) })
	return f
}

// serve answers a request of a principal.
type serve func(p *venue.Principal, w http.ResponseWriter, r *http.Request) error

// answer finds out who makes a request, and answers it; one that carries a key as it was
// answered before.
func (f *Face) answer(serve serve, w http.ResponseWriter, r *http.Request) error {
	p, err := f.door.Caller(r)
	if err != nil || !face.IsKeyed(r) {
		if err == nil {
			err = serve(p, w, r)
		}
		return err
	}
	raw, err := face.Body(w, r)
	if err != nil {
		return err
	}
	o := &face.Once{Body: raw, Answer: serve, Refuse: func(w http.ResponseWriter, err error) { refuse(w, r, err) }}
	return o.Serve(p, w, r)
}

// ServeHTTP answers a request.
func (f *Face) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.mux.ServeHTTP(w, r) }

var errNoRoute = fault.New(fault.NoRoute, "there is nothing here: "+Prefix+" has models, chat/completions and responses")

// paramError says which parameter is wrong.
type paramError struct {
	param string
	error
}

func (e *paramError) Unwrap() error { return e.error }

func invalid(param, text string) error {
	return &paramError{param, fault.New(fault.InvalidInput, text)}
}

// wrong is an error as clients of the API read it.
type wrong struct {
	Message string     `json:"message"`
	Type    string     `json:"type"`
	Param   *string    `json:"param"`
	Code    fault.Code `json:"code"`
}

// kinds are the types of errors by their statuses; the others are of the server.
var kinds = map[int]string{
	http.StatusUnauthorized:    "authentication_error",
	http.StatusForbidden:       "permission_error",
	http.StatusTooManyRequests: "rate_limit_error",
	http.StatusPaymentRequired: "insufficient_quota",
}

// wrongOf is an error as clients read it: it says what [face.Problem] says.
func wrongOf(err error) (wrong, int) {
	p := face.Of(err)
	out := wrong{Message: p.Detail, Type: kinds[p.Status], Code: p.Code}
	switch {
	case out.Type != "":
	case p.Status < http.StatusInternalServerError:
		out.Type = "invalid_request_error"
	default:
		out.Type = "server_error"
	}
	if of, ok := errors.AsType[*paramError](err); ok {
		out.Param = &of.param
	}
	if errors.Is(err, errNoModel) { // clients know it by that name
		out.Code = "model_not_found"
	}
	return out, p.Status
}

// refuse answers with an error, unless a stream has told it.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	if late, is := errors.AsType[*face.LateError](err); is && late.Told {
		return
	}
	out, status := wrongOf(err)
	h := w.Header()
	if status == http.StatusUnauthorized {
		h.Add("WWW-Authenticate", face.Challenge(r))
	}
	again := out.Code == fault.Busy || status == http.StatusTooManyRequests
	if again {
		h.Set("Retry-After", "1")
	}
	h.Set("X-Should-Retry", strconv.FormatBool(again))                    // clients would say other things twice
	_ = face.Answer(w, face.JSON, status, map[string]wrong{"error": out}) // of texts: cannot fail
}

// metadata is what a client notes with a request.
type metadata map[string]string

const maxMetadata = 64 << 10 // bytes

// UnmarshalJSON reads the notes, as long as they are few.
func (m *metadata) UnmarshalJSON(raw []byte) error {
	if len(raw) > maxMetadata {
		return fmt.Errorf("metadata has %d bytes, at most %d", len(raw), maxMetadata)
	}
	return json.Unmarshal(raw, (*map[string]string)(m))
}

// read reads a request.
func read(w http.ResponseWriter, r *http.Request, req any) error {
	raw, err := face.Body(w, r)
	if err != nil {
		return err
	}
	if err := tools.CheckObject(raw); err != nil {
		return fault.New(fault.InvalidInput, "the body is no JSON object: "+err.Error())
	}
	if err := json.Unmarshal(raw, req); err != nil {
		return fault.New(fault.InvalidInput, "the body is no request: "+err.Error())
	}
	return honour(raw)
}
