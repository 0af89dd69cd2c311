package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"usher/tools/tokens"
	"usher/venue/config"
	"usher/venue/rest"
	"usher/venue/server"
)

type serveCmd struct {
	upCmd
	Listen  string   `placeholder:"HOST:PORT" help:"Address to listen at, or unix:PATH. Default: that of the configuration, or 127.0.0.1:7475; :7475 is every interface, where without TLS only a proxy should reach it."`
	TLSCert string   `name:"tls-cert" placeholder:"FILE" help:"Speak TLS with the certificate in this file, which is read again when it changes."`
	TLSKey  string   `name:"tls-key" placeholder:"FILE" help:"File of the certificate's key."`
	ACME    []string `name:"acme" placeholder:"HOST" help:"Speak TLS with certificates for this host, which Let's Encrypt issues: it reaches the venue there at port 443, and you agree to its terms."`
	Log     string   `name:"access-log" placeholder:"FILE" help:"Append a line of JSON for each request to this file; - is standard error."`
	Metrics string   `placeholder:"HOST:PORT" help:"Have /metrics at this address, for Prometheus: whoever reaches it reads them."`
}

// defaultListen is where a venue listens that nobody tells where.
const defaultListen = "127.0.0.1:7475"

// settings is how to serve, by the flags, and by the configuration where they say nothing.
func (c *serveCmd) settings(conf *config.Config) (config.Server, error) {
	at := conf.Server
	at.Listen = cmp.Or(c.Listen, at.Listen, defaultListen)
	at.Metrics = cmp.Or(c.Metrics, at.Metrics)
	if err := config.CheckMetrics(c.Metrics); err != nil {
		return at, misusef("--metrics: %w", err)
	}
	if at.Clash() {
		return at, misusef("--metrics has the address of --listen: give another one")
	}
	at.TLS.Cert, at.TLS.Key = conf.File(at.TLS.Cert), conf.File(at.TLS.Key)
	switch {
	case (c.TLSCert == "") != (c.TLSKey == ""):
		return at, misusef("--tls-cert and --tls-key go together: give both")
	case c.TLSCert != "" && len(c.ACME) > 0:
		return at, misusef("--acme fetches the certificate that --tls-cert would be: give one of them")
	case c.TLSCert != "":
		at.TLS, at.ACME = config.TLS{Cert: c.TLSCert, Key: c.TLSKey}, config.ACME{}
	case len(c.ACME) > 0:
		at.TLS, at.ACME.Hosts = config.TLS{}, c.ACME
		if err := at.ACME.Check(); err != nil {
			return at, misusef("--acme: %w", err)
		}
	}
	return at, nil
}

// serveResult is what the command prints as JSON once the venue is on its port.
type serveResult struct {
	up
	URL   string `json:"url"`
	DID   string `json:"did"`             // of the venue: the audience of tokens
	Token string `json:"token,omitempty"` // made where the user has none
}

func (c *serveCmd) Run(ctx context.Context, s *streams) error {
	return c.run(ctx, s, func(conf *config.Config) (*port, error) { return c.port(ctx, s, conf) })
}

// firstToken is the token that a user gets who has none.
const firstToken = "first"

// port is where a venue is served.
type port struct {
	*serveCmd
	at      config.Server
	opts    server.Options
	log     *os.File     // of requests; nil is none, or standard error
	main    net.Listener // nil until it is taken, so is the other
	metrics net.Listener // nil is none
	server  *server.Server
}

// port takes the addresses and files that serving needs.
func (c *serveCmd) port(ctx context.Context, s *streams, conf *config.Config) (*port, error) {
	at, err := c.settings(conf)
	if err != nil {
		return nil, err
	}
	p := &port{serveCmd: c, at: at, opts: server.Options{Logger: slog.New(s.log()), CORS: at.CORS, Hosts: at.Hosts, Requests: at.Requests, Streams: at.Streams}}
	if err := p.take(ctx, s, false); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// take takes what is not taken yet; where the venue is not open, without what lies in its
// data folder, which may not be there.
func (p *port) take(ctx context.Context, s *streams, open bool) (err error) {
	switch {
	case p.opts.TLS != nil:
	case p.at.TLS.Cert != "":
		if p.opts.TLS, err = server.Certificate(p.at.TLS.Cert, p.at.TLS.Key, p.opts.Logger); err != nil {
			return misuse{err}
		}
	case len(p.at.ACME.Hosts) > 0:
		p.opts.TLS = server.ACME(p.at.ACME.Hosts, filepath.Join(p.dir, "acme"), p.at.ACME.Directory)
	}
	if p.metrics == nil && p.at.Metrics != "" {
		p.opts.Metrics = server.NewMetrics()
		if p.metrics, err = listenAt(ctx, p.at.Metrics, "--metrics"); err != nil {
			return err
		}
	}
	if path, isUnix := strings.CutPrefix(p.at.Listen, "unix:"); p.main == nil && (open || !isUnix || !inside(p.dir, path)) {
		if p.main, err = listenAt(ctx, p.at.Listen, "--listen"); err != nil {
			return err
		}
	}
	switch {
	case p.Log == "-":
		p.opts.Access = slog.New(slog.NewJSONHandler(s.err, nil))
	case p.Log != "" && p.log == nil && (open || !inside(p.dir, p.Log)):
		if p.log, err = os.OpenFile(p.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
			return misuse{err}
		}
		p.opts.Access = slog.New(slog.NewJSONHandler(p.log, nil))
	}
	return nil
}

// listenAt listens at an address, which a flag or the configuration names.
func listenAt(ctx context.Context, address, flag string) (net.Listener, error) {
	l, err := server.Listen(ctx, address)
	if err == nil {
		return l, nil
	}
	if wrong, is := errors.AsType[*net.AddrError](err); is { // no machine has it
		return nil, misusef("%q is no HOST:PORT, such as %s, and no unix:PATH (%s): choose another address with %s", address, defaultListen, wrong.Err, flag)
	}
	return nil, fmt.Errorf("listen at %s: %w: choose another address with %s", address, err, flag)
}

// close gives back what was taken; what has served is closed already.
func (p *port) close() {
	for _, l := range []net.Listener{p.main, p.metrics} {
		if l != nil {
			_ = l.Close()
		}
	}
	if p.log != nil {
		_ = p.log.Close()
	}
}

// begin takes what is left to take, and makes the server.
func (p *port) begin(ctx context.Context, s *streams, k *upVenue) (err error) {
	if err := p.take(ctx, s, true); err != nil {
		return err
	}
	p.server, err = server.New(k.venue, &p.opts)
	return err
}

// serve serves the venue until ctx ends.
func (p *port) serve(ctx context.Context) error {
	both, ctx := errgroup.WithContext(ctx)
	if p.metrics != nil {
		both.Go(func() error { return p.opts.Metrics.Serve(ctx, p.metrics) })
	}
	both.Go(func() error { return p.server.Serve(ctx, p.main) })
	err := both.Wait()
	if p.log != nil {
		err = errors.Join(err, p.log.Close())
	}
	return err
}

// tell says where the venue is, with a token for a user who has none.
func (p *port) tell(ctx context.Context, s *streams, k *upVenue) error {
	out := serveResult{up: up{k.dir, k.file, os.Getpid()}, URL: address(p.main, &p.at), DID: k.venue.DID().String()}
	list, err := ask[tokens.Listing](ctx, k.user, "token:list", tokens.Query{})
	if err == nil && len(list.Tokens) == 0 {
		var made tokens.CreateResult
		made, err = ask[tokens.CreateResult](ctx, k.user, "token:create", tokens.New{Name: firstToken})
		out.Token = made.Secret
	}
	if err != nil {
		return err
	}
	if at, isTCP := p.main.Addr().(*net.TCPAddr); isTCP && !at.IP.IsLoopback() && strings.HasPrefix(out.URL, "http://") {
		s.warn("the venue speaks plain HTTP to other machines, tokens and all: give it a certificate (--tls-cert and --tls-key, or --acme), or let a proxy with TLS alone reach it")
	}
	if p.JSON {
		return s.printLine(out)
	}
	return s.greeting(&out)
}

// address is the URL of the venue, for a client on this machine where it listens at every interface.
func address(l net.Listener, at *config.Server) string {
	host := l.Addr().String()
	if tcp, is := l.Addr().(*net.TCPAddr); is && tcp.IP.IsUnspecified() {
		host = net.JoinHostPort("localhost", strconv.Itoa(tcp.Port))
	}
	switch {
	case l.Addr().Network() == "unix":
		return "unix:" + l.Addr().String()
	case len(at.ACME.Hosts) > 0:
		_, port, _ := net.SplitHostPort(l.Addr().String())
		if port == "443" {
			return "https://" + at.ACME.Hosts[0]
		}
		return "https://" + net.JoinHostPort(at.ACME.Hosts[0], port)
	case at.TLS.Cert != "":
		return "https://" + host
	}
	return "http://" + host
}

// greeting says where the venue is, and how to call it.
func (s *streams) greeting(out *serveResult) error {
	token := out.Token
	if token != "" {
		s.note("The token is you, holds for 24 hours, and is not told again: usher token makes, lists and revokes them.")
	} else {
		s.note("usher token create NAME makes a token: it is not told again.")
		token = "TOKEN"
	}
	to, with := out.URL, ""
	if path, isUnix := strings.CutPrefix(out.URL, "unix:"); isUnix {
		to, with = "http://localhost", "--unix-socket '"+path+"' "
	}
	_, err := fmt.Fprintf(s.out, "%s\n\ncurl %s-H 'Authorization: Bearer %s' %s%s/me\n", out.URL, with, token, to, rest.Prefix)
	return err
}
