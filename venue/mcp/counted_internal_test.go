package mcp

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"usher/caps"
	"usher/tools/fault"
	"usher/venue"
	"usher/venue/config"
	"usher/venue/face"
)

// counting is a venue where guests make some requests, and no more come at its time. Who comes
// without a token may read below w/open.
func counting(t *testing.T, requests int) *venue.Venue {
	t.Helper()
	now := time.Now()
	v, err := venue.Open(t.Context(), &venue.Options{Now: func() time.Time { return now }, Auth: config.Auth{
		Anonymous: &config.AnonymousCaps{Caps: caps.Declare(caps.Of(caps.MustCapability("w/open", "crud/read")))},
		Guests:    config.Guests{Requests: requests},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

// reads are the rows of the ledger on values that were read.
func reads(t *testing.T, v *venue.Venue) (n int) {
	t.Helper()
	for row, err := range v.Audit(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if row.Entry != nil && row.Operation == opRead {
			n++
		}
	}
	return n
}

// What is watched is read again and again, and each time is a request of who watches: a stranger
// who keeps some streams open has the venue do no more than one who asks.
func TestWatchedCountsAsAsked(t *testing.T) {
	const requests = 10
	v := counting(t, requests)
	p, err := v.Anonymous(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d, err := newDesk("test", nil)
	if err != nil {
		t.Fatal(err)
	}
	c, of := &caller{Principal: p.AsRelay(), person: p, request: t.Context()}, d.newServer(nil)
	for i := range maxWatched {
		if err := of.watch(fmt.Sprintf("usher:///w/open/%d", i), true); err != nil {
			t.Fatal(err)
		}
	}
	known := d.digests(t.Context(), c, of, nil)
	for range 3 {
		now := d.digests(t.Context(), c, of, known)
		for what, is := range known {
			if now[what] != is {
				t.Errorf("%s is another, and nothing has changed", what)
			}
		}
	}
	if n := reads(t, v); n != requests-1 { // to come in is the first
		t.Errorf("%d requests read %d values", requests, n)
	}
	if err := p.Again(); fault.Of(err) != fault.RateLimited {
		t.Errorf("one more request = %v", err)
	}
}

// Messages in one body are requests, too.
func TestMessagesInOneBodyCount(t *testing.T) {
	const requests = 10
	v := counting(t, requests)
	f, err := New(&face.Door{Venue: v}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"covia_read","arguments":{"path":"w/open/a"}}}`
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, Path, strings.NewReader("["+strings.Repeat(call+",", requests)+call+"]"))
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Session-Id": "none"} {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	if f.ServeHTTP(w, r); w.Code != http.StatusTooManyRequests {
		t.Errorf("%d messages where %d requests may come = %d %s", requests+1, requests, w.Code, w.Body)
	}
}
