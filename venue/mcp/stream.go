package mcp

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// Times of answers.
const (
	sendTime = 10 * time.Second // that a client takes to read what is sent
	beat     = 15 * time.Second // between looks at whether who listens may still
)

// stream is an answer whose client may take its time between two events, and none within
// one.
type stream struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (s *stream) Write(b []byte) (int, error) {
	_ = s.control.SetWriteDeadline(time.Now().Add(sendTime)) // a writer without deadlines has none to pass
	return s.ResponseWriter.Write(b)
}

// Unwrap is for [http.ResponseController].
func (s *stream) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// follow serves a request that may last: it ends with the right of who makes it, and tells
// of what changes while somebody listens.
func (f *Face) follow(w http.ResponseWriter, r *http.Request, next http.Handler) {
	c := r.Context().Value(callerKey{}).(*caller)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	c.request = ctx
	var watch sync.WaitGroup
	defer watch.Wait()
	done := make(chan struct{})
	defer close(done)
	watch.Go(func() {
		ticker := time.NewTicker(beat)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
			}
			if _, err := c.Capabilities(ctx); err != nil {
				cancel()
				return
			}
		}
	})
	next.ServeHTTP(w, r.WithContext(ctx))
}
