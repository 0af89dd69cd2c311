package face

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"strings"
	"time"

	"usher/runtime"
	"usher/tools/fault"
	"usher/venue"
	"usher/venue/replies"
)

// OnceHeader names a request that is answered once (draft-ietf-httpapi-idempotency-key-header).
const OnceHeader = "Idempotency-Key"

// replayed marks an answer that was given before.
const replayed = "Idempotent-Replayed"

// Once is how a face answers a request that carries a key.
type Once struct {
	Body json.RawMessage // of the request, as the face reads it
	// Repeatable reports of a request that was begun, and of whose answer nobody knows, whether
	// it can be answered again; nil for one that never can.
	Repeatable func() bool
	Answer     func(p *venue.Principal, w http.ResponseWriter, r *http.Request) error
	Refuse     func(w http.ResponseWriter, err error) // answers with an error of Answer
}

// IsKeyed reports whether a request carries a key.
func IsKeyed(r *http.Request) bool {
	return r.Method == http.MethodPost && len(r.Header.Values(OnceHeader)) > 0
}

// Serve answers a request of the principal's that carries a key as it was answered before, or
// else answers it to the end, also when whoever sent it has gone: then an hour at most. What did
// nothing, such as a call that was denied, is forgotten: it may be sent again. Of what was
// stopped in the middle the answer is not kept either, however much a stream has told of it.
func (o *Once) Serve(p *venue.Principal, w http.ResponseWriter, r *http.Request) error {
	keys := r.Header.Values(OnceHeader)
	if key := keys[0]; len(keys) > 1 || len(key) == 0 || len(key) > 255 || strings.ContainsFunc(key, func(c rune) bool { return c < '!' || c > '~' }) {
		return fault.New(fault.InvalidInput, OnceHeader+" is no key: send one, of 1 to 255 signs of ASCII without spaces")
	}
	said := sha256.New()
	fmt.Fprintf(said, "%s %s\n", r.Method, r.URL.RequestURI())
	said.Write(o.Body)
	ticket, before, err := p.Once(r.Context(), keys[0], [sha256.Size]byte(said.Sum(nil)))
	if err != nil {
		return err
	}
	if before != nil {
		retell(w, before)
		return nil
	}
	if ticket.Again && (o.Repeatable == nil || !o.Repeatable()) {
		ticket.Leave()
		return replies.ErrUnknown
	}
	whole, end := goOn(r.Context())
	defer end()
	r = r.WithContext(whole)
	r.Body = io.NopCloser(bytes.NewReader(o.Body))
	kept := &keeper{to: w, header: make(http.Header)}
	answered := false
	defer func() {
		if !answered { // a panic: nobody knows what it did
			ticket.Leave()
		}
	}()
	failed := o.Answer(p.WithName(ticket.Name()), kept, r)
	answered = true
	if failed != nil && context.Cause(whole) == errAlone { //nolint:errorlint // that very value
		failed = errAlone
	}
	whole = context.WithoutCancel(whole)
	if failed != nil && !kept.live {
		o.Refuse(kept, failed)
	}
	switch {
	case failed != nil && isStopped(failed):
		ticket.Leave()
	case failed == nil || didSomething(failed) || isLate(failed):
		err = ticket.Keep(whole, kept.reply())
	default:
		err = ticket.Drop(whole)
	}
	if err != nil { // what is answered is true all the same, and asked again it is unknown
		ticket.Leave()
	}
	kept.tell()
	return nil
}

// retell answers as before.
func retell(w http.ResponseWriter, reply *replies.Reply) {
	h := w.Header()
	h.Set(replayed, "true")
	h.Set("Content-Type", reply.Type)
	h.Set("Cache-Control", "private, no-store")
	if reply.Location != "" {
		h.Set("Location", reply.Location)
	}
	w.WriteHeader(reply.Status)
	_, _ = w.Write(reply.Body)
}

// maxAlone is how long a request goes on that whoever sent it has left.
const maxAlone = time.Hour

var errAlone = fault.New(fault.Timeout, "who sent the request of this Idempotency-Key left, and it has gone on for an hour since without an end")

// goOn is the context of a request that goes on when whoever sent it has left, for a while.
func goOn(ctx context.Context) (whole context.Context, end func()) {
	whole, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	alone := time.AfterFunc(math.MaxInt64, func() { cut(errAlone) })
	here := context.AfterFunc(ctx, func() { alone.Reset(maxAlone) })
	return whole, func() {
		here()
		alone.Stop()
		cut(nil)
	}
}

// LateError is why a request came to nothing that had begun to be done. Under a key it is told
// again, and not done again.
type LateError struct {
	Err  error
	Told bool // in the stream that is the answer
}

func (e *LateError) Error() string { return e.Err.Error() }

// Unwrap is for [errors.Is].
func (e *LateError) Unwrap() error { return e.Err }

func isLate(err error) bool {
	_, late := errors.AsType[*LateError](err)
	_, asked := errors.AsType[*runtime.ModelError](err) // a turn of an agent failed
	return late || asked || fault.Of(err) == fault.LimitReached
}

// didSomething reports whether a request that failed may have done something.
func didSomething(err error) bool {
	switch Of(err).Status {
	case http.StatusPaymentRequired, http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// isStopped reports whether a request is not at its end: the venue stopped in the middle, or it
// waits for somebody.
func isStopped(err error) bool {
	switch fault.Of(err) {
	case fault.Canceled, fault.Stopped, fault.Interrupted, fault.Waiting:
		return true
	}
	return errors.Is(err, context.Canceled)
}

// keeper keeps an answer, to be told once it is stored. That of a stream goes out as it comes,
// and is kept as far as one is told again; whoever follows it may go.
type keeper struct {
	to     http.ResponseWriter
	header http.Header
	status int
	body   bytes.Buffer
	live   bool // it is a stream
	gone   bool // and nobody follows it any more
}

func (k *keeper) Header() http.Header { return k.header }

func (k *keeper) WriteHeader(status int) {
	if k.status != 0 {
		return
	}
	k.status = status
	if k.live = k.header.Get("Content-Type") == streamType; k.live {
		k.begin()
	}
}

// reply is what is kept.
func (k *keeper) reply() *replies.Reply {
	return &replies.Reply{Status: k.status, Type: k.header.Get("Content-Type"), Location: k.header.Get("Location"), Body: k.body.Bytes()}
}

func (k *keeper) begin() {
	maps.Copy(k.to.Header(), k.header)
	k.to.WriteHeader(k.status)
}

func (k *keeper) Write(b []byte) (int, error) {
	k.WriteHeader(http.StatusOK)
	if !k.live {
		return k.body.Write(b)
	}
	k.body.Write(b[:min(len(b), replies.MaxBody+1-k.body.Len())])
	if !k.gone {
		_, err := k.to.Write(b)
		k.gone = err != nil
	}
	return len(b), nil
}

// FlushError is for [http.ResponseController], as is SetWriteDeadline.
func (k *keeper) FlushError() error {
	if k.live && !k.gone {
		k.gone = http.NewResponseController(k.to).Flush() != nil
	}
	return nil
}

func (k *keeper) SetWriteDeadline(at time.Time) error {
	if !k.gone {
		return http.NewResponseController(k.to).SetWriteDeadline(at)
	}
	return nil
}

// tell sends what is kept, where it has not gone out.
func (k *keeper) tell() {
	if !k.live {
		k.begin()
		_, _ = k.to.Write(k.body.Bytes()) // a caller who is gone is told nothing
	}
}
