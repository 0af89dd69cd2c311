package face

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"sync"
	"time"
)

// Stream sends server-sent events (HTML, "Server-sent events"). A client that reads too
// slowly is cut off, and comes back with Last-Event-ID.
type Stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// Times of streams.
const (
	beat     = 15 * time.Second // between comments that keep proxies from closing
	sendTime = 10 * time.Second // that a client takes to read what is sent
)

const streamType = "text/event-stream"

// NewStream begins a stream.
func NewStream(w http.ResponseWriter) *Stream {
	h := w.Header()
	h.Set("Content-Type", streamType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return &Stream{w, http.NewResponseController(w)}
}

// Send sends one event as JSON, at once. id and event are left out where they are empty.
func (s *Stream) Send(id, event string, data any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	text := ""
	if id != "" {
		text += "id: " + id + "\n"
	}
	if event != "" {
		text += "event: " + event + "\n"
	}
	return s.write(fmt.Sprintf("%sdata: %s\n\n", text, raw))
}

// Text sends one event that is no JSON, in one line.
func (s *Stream) Text(data string) error { return s.write("data: " + data + "\n\n") }

func (s *Stream) write(text string) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(sendTime)); err != nil {
		return err
	}
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.control.Flush()
}

type item[T any] struct {
	value T
	err   error
}

// Follow sends what all yields until that ends, and a comment now and then while nothing
// comes, unless still says that the caller may follow no more. It returns when nothing of
// all runs any more.
func Follow[T any](ctx context.Context, s *Stream, still func(context.Context) error, all func(context.Context) iter.Seq2[T, error], send func(T, error) error) error {
	ctx, cancel := context.WithCancel(ctx)
	items := make(chan item[T])
	var reads sync.WaitGroup
	reads.Go(func() {
		defer close(items)
		for v, err := range all(ctx) {
			select {
			case items <- item[T]{v, err}:
			case <-ctx.Done():
				return
			}
		}
	})
	defer reads.Wait()
	defer cancel()
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for {
		select {
		case i, open := <-items:
			if !open {
				return nil
			}
			if err := send(i.value, i.err); err != nil {
				return err
			}
		case <-ticker.C:
			if err := still(ctx); err != nil {
				var none T
				return cmp.Or(send(none, err), err)
			}
			if err := s.write(": nothing new\n\n"); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
