// Package server puts a venue on a port: [New] mounts its faces, and [Server.Serve]
// answers until its context ends, which lets the requests that are under way end.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"usher/tools/fault"
	"usher/venue"
	"usher/venue/a2a"
	"usher/venue/agentauth"
	"usher/venue/agui"
	"usher/venue/completions"
	"usher/venue/face"
	"usher/venue/hooks"
	"usher/venue/login"
	"usher/venue/mcp"
	"usher/venue/rest"
)

// Options says how to serve. Nil and the zero value are valid.
type Options struct {
	Logger *slog.Logger  // of what goes wrong; nil discards
	Access *slog.Logger  // of each request; nil is Logger
	Grace  time.Duration // for requests at the end; zero is 10 s

	TLS      *tls.Config // nil speaks plain HTTP; see [Certificate] and [ACME]
	CORS     []string    // origins whose pages may call from a browser
	Hosts    []string    // names by which a proxy on this machine asks for the venue
	Requests int         // under way at once; zero is 4096
	Streams  int         // that a principal follows at once; zero is [face.MaxStreams]
	Metrics  *Metrics    // nil counts nothing
}

// Bounds of what a client sends. Bodies are bounded by the faces.
const (
	headTime = 10 * time.Second // to send a head
	idleTime = 2 * time.Minute  // between two requests
	sendTime = 5 * time.Minute  // for an answer, once it begins; streams set theirs anew
	maxHead  = 64 << 10         // bytes
	stopTime = 10 * time.Second
	readTime = time.Minute // to send a whole request
)

// Server serves a venue.
type Server struct {
	opts    Options
	venue   *venue.Venue
	handler http.Handler
	mcp     *mcp.Face
	door    *face.Door
	metrics *Metrics
	closing atomic.Bool

	inFlight atomic.Int64 // requests
}

// New returns a server of the venue.
func New(v *venue.Venue, o *Options) (*Server, error) {
	s := &Server{venue: v}
	if o != nil {
		s.opts = *o
	}
	if s.opts.Logger == nil {
		s.opts.Logger = slog.New(slog.DiscardHandler)
	}
	if s.opts.Access == nil {
		s.opts.Access = s.opts.Logger
	}
	if s.opts.Grace <= 0 {
		s.opts.Grace = stopTime
	}
	if s.opts.Requests <= 0 {
		s.opts.Requests = maxRequests
	}
	s.door, s.metrics = &face.Door{Venue: v, Streams: face.Streams{Most: s.opts.Streams}, Origins: s.opts.CORS, Hosts: s.opts.Hosts}, s.opts.Metrics
	api, err := rest.New(s.door)
	if err != nil {
		return nil, err
	}
	if s.mcp, err = mcp.New(s.door, &mcp.Options{Logger: s.opts.Logger}); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(rest.Prefix+"/", api)
	mux.Handle("GET /openapi.json", http.RedirectHandler(rest.Prefix+"/openapi.json", http.StatusPermanentRedirect))
	mux.Handle(mcp.Path, s.mcp)
	mux.HandleFunc(mcp.MetadataPath, s.mcp.Metadata)
	mux.HandleFunc(mcp.MetadataPath+mcp.Path, s.mcp.Metadata)
	mux.Handle(completions.Prefix+"/", completions.New(s.door))
	mux.Handle(agui.Prefix+"/", agui.New(s.door))
	remote := a2a.New(s.door)
	for _, path := range []string{a2a.Prefix, a2a.Prefix + "/", a2a.CardPath} {
		mux.Handle(path, remote)
	}
	signIn := login.New(s.door)
	for _, path := range []string{login.Path, login.Path + "/", login.OutPath} {
		mux.Handle(path, signIn)
	}
	mux.Handle(hooks.Path, hooks.New(v, rest.Prefix+"/jobs/"))
	visits := agentauth.New(s.door, s.opts.Logger)
	mux.Handle(agentauth.DiscoveryPath, visits)
	for _, path := range agentauth.Prefixes {
		mux.Handle(path, visits)
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.HandleFunc("GET /.well-known/did.json", s.identity)
	mux.HandleFunc("GET /u/{id}/did.json", s.principal)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { face.Of(errNothing).WriteTo(w) })
	s.handler = s.log(cors(s.opts.CORS, s.limit(mux)))
	if s.metrics == nil {
		return s, nil
	}
	return s, s.metrics.of(v, s)
}

var errNothing = fault.New(fault.NoRoute, "there is nothing here: people begin at "+rest.Prefix+"/docs, and chat front ends below "+completions.Prefix)

func text(w http.ResponseWriter, status int, say string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(say))
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// ready says whether requests should come here.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if s.closing.Load() {
		text(w, http.StatusServiceUnavailable, "stopping\n")
		return
	}
	text(w, http.StatusOK, "ready\n")
}

// Serve answers what comes to the listener until ctx ends. Then it takes no new request,
// lets those that are under way end for the grace, and cuts the others.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	whole, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	server := &http.Server{
		Handler: s, BaseContext: func(net.Listener) context.Context { return whole },
		TLSConfig:         s.opts.TLS,
		ReadHeaderTimeout: headTime, ReadTimeout: readTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHead,
		ErrorLog: slog.NewLogLogger(s.opts.Logger.Handler(), slog.LevelDebug),
	}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		s.closing.Store(true)
		var sessions sync.WaitGroup
		sessions.Go(s.mcp.Close)
		end, cancel := context.WithTimeout(whole, s.opts.Grace)
		defer cancel()
		err := server.Shutdown(end)
		cut()
		if errors.Is(err, context.DeadlineExceeded) {
			err = server.Close()
		}
		sessions.Wait()
		stopped <- err
	})
	var err error
	if s.opts.TLS != nil {
		err = server.ServeTLS(l, "", "")
	} else {
		err = server.Serve(l)
	}
	if !stop() {
		return <-stopped
	}
	cut()
	s.mcp.Close()
	return fmt.Errorf("serve: %w", err)
}
