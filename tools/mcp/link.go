package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"usher/caps/value"
	"usher/tools/fault"
)

// Times of a connection.
const (
	connectTime = 60 * time.Second // until a server has answered and listed its tools: one may have to be fetched first
	relistTime  = time.Minute      // after which the tools are listed again before a call
	firstWait   = time.Second      // after a failure; doubled with each
	longestWait = 2 * time.Minute
	answerTime  = 10 * time.Second // for a server that is in doubt to answer at all
	steadyTime  = time.Minute      // after which a connection that ends is no failure
)

// link is the connection to one server: none at first, made when it is needed.
type link struct {
	server Server
	opts   *Options
	log    *slog.Logger
	told   func(context.Context, *listing) error // of each listing
	bearer *bearer                               // nil for a server that nobody signs in to
	asking serverQuestions
	said   lastWords

	mu      sync.Mutex
	login   *login // that is under way
	live    *session
	making  *attempt
	failed  error // why there is none; nil where nobody tried
	wait    time.Duration
	again   time.Time // not before it
	closed  bool
	work    sync.WaitGroup
	context context.Context
	stop    context.CancelFunc
}

// session is a connection that stands.
type session struct {
	*sdk.ClientSession
	texts   map[string]string   // the environment or the headers that it was made with
	hide    func(string) string // takes the secrets that the server was given out of a text
	began   time.Time
	listed  time.Time // last, under the mutex of the link
	doubted bool      // under the mutex of the link
	over    chan struct{}
	close   func()
}

// attempt is a connection in the making, which several may wait for.
type attempt struct {
	done chan struct{}
	live *session
	err  error
}

func newLink(s Server, opts *Options, told func(context.Context, *listing) error) *link {
	l := &link{server: s, opts: opts, told: told, log: opts.Logger, asking: serverQuestions{open: map[string]*openQuestion{}}}
	if s.asksWhoCalls() {
		l.bearer = newBearer(&l.server, opts)
	}
	l.context, l.stop = context.WithCancel(context.Background())
	return l
}

// errClosed is why a server takes no more calls.
var errClosed = fault.New(fault.NotFound, "the server is configured no more, or in another way: call again")

// connection returns the connection, which it makes where there is none, or where that was made
// with secrets that are others by now: one that is gone opens nothing any more. ctx bounds how
// long this caller waits, and not the making.
func (l *link) connection(ctx context.Context) (*session, error) {
	live, err := l.anySession(ctx)
	if err != nil || len(l.server.Secrets()) == 0 {
		return live, err
	}
	texts, _, err := l.secrets(ctx)
	if err == nil && maps.Equal(texts, live.texts) {
		return live, nil
	}
	l.mu.Lock()
	if l.live == live && !l.closed {
		l.live = nil
		l.work.Go(live.close)
	}
	l.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("MCP server %s cannot be reached: %w", l.server.ID, err)
	}
	return l.anySession(ctx)
}

// anySession is connected, whatever secrets the connection was made with.
func (l *link) anySession(ctx context.Context) (*session, error) {
	l.mu.Lock()
	switch now := l.opts.Now(); {
	case l.closed:
		l.mu.Unlock()
		return nil, errClosed
	case l.live != nil:
		defer l.mu.Unlock()
		return l.live, nil
	case l.making == nil && now.Before(l.again):
		defer l.mu.Unlock()
		return nil, fmt.Errorf("MCP server %s cannot be reached (%w); it is tried again in %s", l.server.ID, l.failed, l.again.Sub(now).Round(time.Second))
	case l.making == nil:
		a := &attempt{done: make(chan struct{})}
		l.making = a
		l.work.Go(func() { l.make(a) })
	}
	making := l.making
	l.mu.Unlock()
	select {
	case <-making.done:
		if making.err != nil {
			return nil, fmt.Errorf("MCP server %s cannot be reached: %w", l.server.ID, making.err)
		}
		return making.live, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// make makes the connection and lists the tools.
func (l *link) make(a *attempt) {
	ctx, cancel := context.WithTimeoutCause(l.context, connectTime, fmt.Errorf("it has not answered within %s", connectTime))
	defer cancel()
	live, err := l.connect(ctx)
	if err == nil {
		if err = l.list(ctx, live); err != nil {
			live.close()
		}
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.making = nil
	switch {
	case err != nil:
		l.fail(err)
		l.log.Warn("an MCP server cannot be reached", "server", l.server.ID, "error", err)
	case l.closed:
		l.work.Go(live.close) // it may take its time
		err = errClosed
	default:
		l.live, l.failed = live, nil
		l.work.Go(func() { l.watch(live) })
	}
	a.live, a.err = live, err
	close(a.done)
}

// fail notes a failure, under the mutex.
func (l *link) fail(err error) {
	l.failed = err
	l.wait = min(max(2*l.wait, firstWait), longestWait)
	l.again = l.opts.Now().Add(l.wait)
}

// watch waits for the end of a connection.
func (l *link) watch(live *session) {
	err := live.Wait()
	close(live.over)
	live.close()
	if err == nil {
		err = errors.New("it has ended")
	}
	l.drop(live, l.safeError(live.hide, err))
}

// drop notes that a connection stands no more.
func (l *link) drop(live *session, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.live != live || l.closed {
		return
	}
	l.live = nil
	l.work.Go(live.close)
	if l.opts.Now().Sub(live.began) >= steadyTime {
		l.wait = 0
	}
	l.fail(err)
	l.log.Warn("an MCP server has ended", "server", l.server.ID, "error", err)
}

// connect starts the server, or reaches it.
func (l *link) connect(ctx context.Context) (*session, error) {
	texts, hide, err := l.secrets(ctx)
	if err != nil {
		return nil, err
	}
	live := &session{texts: texts, hide: hide, began: l.opts.Now(), over: make(chan struct{})}
	var t sdk.Transport
	var end func()
	var refused int64
	switch {
	case l.opts.transport != nil:
		t, end = l.opts.transport(l.server), func() {}
	case l.server.URL != "":
		var handler auth.OAuthHandler // a nil *bearer is no nil handler
		if l.bearer != nil {
			handler, refused = l.bearer, l.bearer.refused.Load()
		}
		t, end, err = l.server.remote(texts, handler)
	default:
		var p *process
		if p, err = l.server.start(texts, hide, l.log, &l.said); err == nil {
			t, end = p.transport(), func() { _ = p.Close() }
		}
	}
	if err != nil {
		return nil, errors.New(hide(err.Error()))
	}
	o := &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}} // no roots, and nobody answers sampling
	if l.server.Elicitation == AskPerson {
		o.Capabilities.Elicitation = &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}}
		o.ElicitationHandler = l.elicit(hide)
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "usher", Version: l.opts.Version}, o)
	client.AddSendingMiddleware(bypassCache)
	live.ClientSession, err = client.Connect(ctx, t, nil)
	if err != nil {
		end()
		if l.bearer != nil && l.bearer.refused.Load() != refused { // the SDK tries another version then, and tells of that
			return nil, &signInError{l.server.ID}
		}
		return nil, l.safeError(hide, err)
	}
	live.close = sync.OnceFunc(func() {
		go func() { // of a server that hangs, closing may too; end ends it then
			_ = live.Close()
		}()
		select {
		case <-live.over:
		case <-time.After(leaveTime):
		}
		end()
	})
	return live, nil
}

// secrets are the texts of the environment or the headers, with the secrets that they
// name, and what hides those.
func (l *link) secrets(ctx context.Context) (texts map[string]string, hide func(string) string, err error) {
	values := map[string]string{}
	var hidden []string
	for _, name := range l.server.Secrets() {
		if l.opts.Secret == nil {
			return nil, nil, fmt.Errorf("secret:%s: there are no secrets here", name)
		}
		if values[name], err = l.opts.Secret(ctx, name); err != nil {
			return nil, nil, fmt.Errorf("open secret:%s: %w", name, err)
		}
		hidden = append(hidden, values[name])
	}
	from := l.server.Env
	if l.server.URL != "" {
		from = l.server.Headers
	}
	texts = maps.Clone(from)
	for key, text := range texts {
		texts[key] = secretHandle().ReplaceAllStringFunc(text, func(handle string) string { return values[handle[len("secret:"):]] })
	}
	if l.bearer == nil {
		return texts, value.Hide(hidden...), nil
	}
	return texts, func(text string) string {
		return value.Hide(append(slices.Clip(hidden), l.bearer.secrets()...)...)(text)
	}, nil
}

// safeError is an error of a connection as agents and the log are told it: short, without secrets, and
// without the URL, whose path and query may be one, too.
func (l *link) safeError(hide func(string) string, err error) error {
	return errors.New(value.Cut(l.server.originOnly(hide(err.Error())), maxError))
}

// originOnly is a text with the server's host in the place of its whole URL.
func (s *Server) originOnly(text string) string {
	u, err := url.Parse(s.URL)
	if err != nil || s.URL == "" {
		return text
	}
	origin := u.Scheme + "://" + u.Host
	return strings.NewReplacer(s.URL, origin, u.String(), origin).Replace(text)
}

// fresh lists the tools again where that is long ago.
func (l *link) fresh(ctx context.Context, live *session) error {
	l.mu.Lock()
	old := l.opts.Now().Sub(live.listed) >= relistTime
	l.mu.Unlock()
	if !old {
		return nil
	}
	return l.list(ctx, live)
}

// doubt ends a connection that does not answer at all, so that the next call begins with
// another one.
func (l *link) doubt(live *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.live != live || live.doubted {
		return
	}
	live.doubted = true
	l.work.Go(func() {
		ctx, cancel := context.WithTimeout(l.context, answerTime)
		defer cancel()
		err := live.Ping(ctx, nil)
		l.mu.Lock()
		live.doubted = false
		l.mu.Unlock()
		if err != nil && ctx.Err() != nil { // any answer is one
			l.drop(live, errLate)
		}
	})
}

// close ends the connection and waits for all that it began.
func (l *link) close() {
	l.mu.Lock()
	l.closed = true
	live := l.live
	l.mu.Unlock()
	l.stop()
	if live != nil {
		live.close()
	}
	l.work.Wait()
}

// state says how it is with the connection, in a few words.
func (l *link) state() (state string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.live != nil:
		return "connected", nil
	case l.making != nil:
		return "connecting", nil
	case l.failed != nil:
		return "failed", l.failed
	}
	return "idle", nil
}
