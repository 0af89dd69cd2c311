package rest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"usher/tools/fault"
	"usher/venue"
	"usher/venue/face"
	"usher/venue/replies"
)

// onceHeader names a request that is answered once (draft-ietf-httpapi-idempotency-key-header).
const onceHeader = "Idempotency-Key"

// replayed marks an answer that was given before.
const replayed = "Idempotent-Replayed"

// once answers a request that carries a key as it was answered before, or else answers it to
// the end, also when whoever sent it has gone. What did nothing, such as a call that was
// denied, is forgotten: it may be sent again.
func (f *Face) once(rt *route, p *venue.Principal, w http.ResponseWriter, r *http.Request) error {
	keys := r.Header.Values(onceHeader)
	if key := keys[0]; len(keys) > 1 || len(key) == 0 || len(key) > 255 || strings.ContainsFunc(key, func(c rune) bool { return c < '!' || c > '~' }) {
		return invalid("%s is no key: send one, of 1 to 255 signs of ASCII without spaces", onceHeader)
	}
	raw, err := body(r)
	if err != nil {
		return err
	}
	said := sha256.New()
	fmt.Fprintf(said, "%s %s\n", r.Method, r.URL.RequestURI())
	said.Write(raw)
	ticket, before, err := p.Once(r.Context(), keys[0], [sha256.Size]byte(said.Sum(nil)))
	if err != nil {
		return err
	}
	if before != nil {
		w.Header().Set(replayed, "true")
		retell(w, before)
		return nil
	}
	if ticket.Again && !f.repeatable(r, rt, p, raw) {
		ticket.Leave()
		return replies.ErrUnknown
	}
	whole := context.WithoutCancel(r.Context())
	r = r.WithContext(whole)
	r.Body = io.NopCloser(bytes.NewReader(raw))
	kept := &keeper{header: make(http.Header)}
	answered := false
	defer func() {
		if !answered { // a panic: nobody knows what it did
			ticket.Leave()
		}
	}()
	failed := rt.answer(f, p.Named(ticket.Name()), kept, r)
	answered = true
	if failed != nil {
		face.Of(failed).WriteTo(kept)
	}
	reply := &replies.Reply{Status: kept.status, Type: kept.header.Get("Content-Type"), Location: kept.header.Get("Location"), Body: kept.body.Bytes()}
	switch {
	case failed == nil || didSomething(failed):
		err = ticket.Keep(whole, reply)
	case stopped(failed):
		ticket.Leave()
	default:
		err = ticket.Drop(whole)
	}
	if err != nil { // what is answered is true all the same, and asked again it is unknown
		ticket.Leave()
	}
	for name, values := range kept.header {
		w.Header()[name] = values
	}
	w.WriteHeader(kept.status)
	_, _ = w.Write(kept.body.Bytes()) // a caller who is gone is told nothing
	return nil
}

// retell answers as before.
func retell(w http.ResponseWriter, reply *replies.Reply) {
	h := w.Header()
	h.Set("Content-Type", reply.Type)
	h.Set("Cache-Control", "private, no-store")
	if reply.Location != "" {
		h.Set("Location", reply.Location)
	}
	w.WriteHeader(reply.Status)
	_, _ = w.Write(reply.Body)
}

// didSomething reports whether a request that failed may have done something.
func didSomething(err error) bool {
	switch face.Of(err).Status {
	case http.StatusPaymentRequired, http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// stopped reports whether a request is not at its end: the venue stopped in the middle, or it
// waits for somebody.
func stopped(err error) bool {
	switch fault.Of(err) {
	case fault.Canceled, fault.Stopped, fault.Interrupted, fault.Waiting:
		return true
	}
	return errors.Is(err, context.Canceled)
}

// repeatable reports whether a request that was begun can be answered again.
func (f *Face) repeatable(r *http.Request, rt *route, p *venue.Principal, raw json.RawMessage) bool {
	if op := f.ops[rt.op]; op != nil {
		return op.Repeatable()
	}
	var c call
	if rt.path != "/invoke" || json.Unmarshal(raw, &c) != nil {
		return rt.path == "/decide" // which does nothing
	}
	if _, forever, err := c.waits(r); err != nil || !forever { // a job, which is begun once
		return f.ops["grid:invoke"].Repeatable()
	}
	op, err := p.Operation(r.Context(), c.Operation)
	return err == nil && op.Repeatable()
}

// keeper keeps an answer.
type keeper struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (k *keeper) Header() http.Header { return k.header }

func (k *keeper) Write(b []byte) (int, error) {
	if k.status == 0 {
		k.status = http.StatusOK
	}
	return k.body.Write(b)
}

func (k *keeper) WriteHeader(status int) {
	if k.status == 0 {
		k.status = status
	}
}
