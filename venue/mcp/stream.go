package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/tools/fault"
	"usher/tools/pause"
	"usher/ucan"
	"usher/venue/face"
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

// listeners are the streams on which callers hear of what changes.
type listeners struct {
	places face.Places

	mu  sync.Mutex
	all map[*listener]bool
}

// listener hears of changes.
type listener struct {
	owner ucan.DID
	leave func()
	look  chan struct{} // something may have changed
}

// Bounds of those who listen at once.
const (
	maxListeners = 4096 // of all
	maxGuestEars = 1024 // of all guests
	maxOwnEars   = 32   // of one principal
	lookTime     = 100 * time.Millisecond
)

func (l *listeners) add(owner ucan.DID, who string, guest bool) (*listener, error) {
	leave, own := l.places.Take(who, guest, face.Most{Own: maxOwnEars, Guests: maxGuestEars, All: maxListeners})
	if leave == nil {
		return nil, fault.New(fault.TooManyRuns, fmt.Sprintf("too many streams are open, %d of them yours: close some", own))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = make(map[*listener]bool)
	}
	one := &listener{owner, leave, make(chan struct{}, 1)}
	l.all[one] = true
	return one, nil
}

func (l *listeners) drop(one *listener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, one)
	one.leave()
}

// wake has those look who listen to what is owner's.
func (l *listeners) wake(owner ucan.DID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for one := range l.all {
		if one.owner == owner {
			select {
			case one.look <- struct{}{}:
			default: // it looks anyhow
			}
		}
	}
}

// follow serves a request on which the caller listens, until who makes it may no more, and
// tells what changes.
func (f *Face) follow(w http.ResponseWriter, r *http.Request, next http.Handler) error {
	c := r.Context().Value(callerKey{}).(*caller)
	var of *callerServer
	switch {
	case r.Method == http.MethodGet:
		of = f.sessions.server(r.Header.Get("Mcp-Session-Id"))
	case c.modern && r.Header.Get("Mcp-Method") == "subscriptions/listen":
		f.server(r)
		of = c.server
	}
	if of == nil {
		next.ServeHTTP(w, r)
		return nil
	}
	one, err := f.listeners.add(c.DID(), c.Place(), c.Guest())
	if err != nil {
		return err
	}
	defer f.listeners.drop(one)
	ctx, cancel := context.WithCancel(r.Context())
	c.request = ctx
	known := f.digests(ctx, c, of, nil)
	var watch sync.WaitGroup
	watch.Go(func() { f.watch(ctx, cancel, c, of, one, known) })
	defer watch.Wait()
	defer cancel()
	next.ServeHTTP(w, r.WithContext(ctx))
	return nil
}

// watch tells what changes for c of what is known, on the streams of a server.
func (d *desk) watch(ctx context.Context, cancel context.CancelFunc, c *caller, of *callerServer, one *listener, known map[string]string) {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-one.look:
		case <-ticker.C:
		}
		if _, err := c.Capabilities(ctx); err != nil {
			cancel()
			return
		}
		now := d.digests(ctx, c, of, known)
		for what, is := range now {
			if was, heard := known[what]; !heard || was == is {
				continue
			}
			switch what {
			case toolList: // the SDK tells of a list when something is added or removed
				of.AddTool(&sdk.Tool{Name: "_", InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
				of.RemoveTools("_")
			case promptList:
				of.AddPrompt(&sdk.Prompt{Name: "_"}, nil)
				of.RemovePrompts("_")
			default:
				d.unheard(ctx, of.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: what}))
			}
		}
		known = now
		if pause.For(ctx, lookTime) != nil { // what changes all the time is told now and then
			return
		}
	}
}

// What a listener hears of, beside the addresses of resources.
const (
	toolList   = "tools"
	promptList = "prompts"
)

// digests are digests of what the caller sees. To read a resource anew is a request of theirs, and
// where it would be one too many the resource is as it was known before.
func (d *desk) digests(ctx context.Context, c *caller, of *callerServer, known map[string]string) map[string]string {
	now := make(map[string]string)
	note := func(what string, see func() (sdk.Result, error)) {
		if res, err := see(); err == nil {
			if raw, err := json.Marshal(res); err == nil {
				now[what] = string(digest(string(raw)))
				return
			}
		}
		now[what] = ""
	}
	note(toolList, func() (sdk.Result, error) { return d.listTools(ctx, c, nil) })
	note(promptList, func() (sdk.Result, error) { return d.listPrompts(ctx, c, nil) })
	of.mu.Lock()
	uris := make([]string, 0, len(of.watched))
	for uri := range of.watched {
		uris = append(uris, uri)
	}
	of.mu.Unlock()
	for _, uri := range uris {
		if c.Again() != nil {
			if was, heard := known[uri]; heard {
				now[uri] = was
			}
			continue
		}
		note(uri, func() (sdk.Result, error) { return d.readResource(ctx, c, &sdk.ReadResourceParams{URI: uri}) })
	}
	return now
}
