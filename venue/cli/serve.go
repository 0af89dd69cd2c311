package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
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

// asked is how to serve, by the flags, and by the configuration where they say nothing.
func (c *serveCmd) asked(conf *config.Config) (config.Server, error) {
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

// served is what the command prints as JSON once the venue is on its port.
type served struct {
	up
	URL   string `json:"url"`
	DID   string `json:"did"`             // of the venue: the audience of tokens
	Token string `json:"token,omitempty"` // made where the user has none
}

func (c *serveCmd) Run(ctx context.Context, s *streams) error {
	c.beside = c.listen
	return c.upCmd.Run(ctx, s)
}

// firstToken is the token that a user gets who has none.
const firstToken = "first"

func (c *serveCmd) listen(ctx context.Context, s *streams, k *kept) (run func(context.Context) error, tell func() error, err error) {
	at, err := c.asked(k.config.Load())
	if err != nil {
		return nil, nil, err
	}
	o := server.Options{Logger: slog.New(s.log()), CORS: at.CORS, Requests: at.Requests, Streams: at.Streams}
	var access io.WriteCloser
	switch c.Log {
	case "":
	case "-":
		o.Access = slog.New(slog.NewJSONHandler(s.err, nil))
	default:
		if access, err = os.OpenFile(c.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
			return nil, nil, misuse{err}
		}
		o.Access = slog.New(slog.NewJSONHandler(access, nil))
	}
	switch {
	case at.TLS.Cert != "":
		if o.TLS, err = server.Certificate(at.TLS.Cert, at.TLS.Key, o.Logger); err != nil {
			return nil, nil, err
		}
	case len(at.ACME.Hosts) > 0:
		o.TLS = server.ACME(at.ACME.Hosts, filepath.Join(k.dir, "acme"), at.ACME.Directory)
	}
	run = func(context.Context) error { return nil }
	if at.Metrics != "" {
		o.Metrics = server.NewMetrics()
		l, err := server.Listen(ctx, at.Metrics)
		if err != nil {
			return nil, nil, fmt.Errorf("listen at %s: %w: choose another address with --metrics", at.Metrics, err)
		}
		run = func(ctx context.Context) error { return o.Metrics.Serve(ctx, l) }
	}
	srv, err := server.New(k.venue, &o)
	if err != nil {
		return nil, nil, err
	}
	l, err := server.Listen(ctx, at.Listen)
	if err != nil {
		return nil, nil, fmt.Errorf("listen at %s: %w: choose another address with --listen", at.Listen, err)
	}
	out := served{up: up{k.dir, k.file, os.Getpid()}, URL: address(l, &at), DID: k.venue.DID().String()}
	tell = func() error {
		list, err := ask[tokens.Listing](ctx, k.user, "token:list", tokens.Query{})
		if err == nil && len(list.Tokens) == 0 {
			var made tokens.Created
			made, err = ask[tokens.Created](ctx, k.user, "token:create", tokens.New{Name: firstToken})
			out.Token = made.Secret
		}
		if err != nil {
			return err
		}
		if at, isTCP := l.Addr().(*net.TCPAddr); isTCP && !at.IP.IsLoopback() && strings.HasPrefix(out.URL, "http://") {
			s.warn("the venue speaks plain HTTP to other machines, tokens and all: give it a certificate (--tls-cert and --tls-key, or --acme), or let a proxy with TLS alone reach it")
		}
		if c.JSON {
			return s.printLine(out)
		}
		return c.greeting(s, &out)
	}
	beside := run
	return func(ctx context.Context) error {
		both, ctx := errgroup.WithContext(ctx)
		both.Go(func() error { return beside(ctx) })
		both.Go(func() error { return srv.Serve(ctx, l) })
		err := both.Wait()
		if access != nil {
			err = errors.Join(err, access.Close())
		}
		return err
	}, tell, nil
}

// address is the URL of the venue.
func address(l net.Listener, at *config.Server) string {
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
		return "https://" + l.Addr().String()
	}
	return "http://" + l.Addr().String()
}

// greeting says where the venue is, and how to call it.
func (c *serveCmd) greeting(s *streams, out *served) error {
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
