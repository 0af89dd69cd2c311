package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"usher/tools/form"
)

// Server says how usher serve puts the venue on a port. The flags of the command win.
type Server struct {
	_        struct{} `noun:"the server section" example:"{'listen': ':443', 'acme': {'hosts': ['venue.example.org']}}"`
	Listen   string   `json:"listen,omitempty" example:"127.0.0.1:7475" jsonschema:"HOST:PORT, or unix:PATH for a socket that its user alone may open. Default: 127.0.0.1:7475."`
	Metrics  string   `json:"metrics,omitempty" example:"127.0.0.1:7476" jsonschema:"HOST:PORT at which /metrics is, for Prometheus: whoever reaches it reads them. Default: nowhere."`
	TLS      TLS      `json:"tls,omitzero" jsonschema:"A certificate and its key."`
	ACME     ACME     `json:"acme,omitzero" jsonschema:"Certificates that are fetched, by ACME."`
	CORS     []string `json:"cors,omitempty" noun:"an origin" each:"its text" example:"['https://app.example.org']" jsonschema:"Origins whose pages may call the venue from a browser. Default: none."`
	Hosts    []string `json:"hosts,omitempty" noun:"a host" each:"its name" example:"['venue.example.org']" jsonschema:"Names by which a proxy on the venue's machine asks for it: whoever shows no token is refused under others, and at /mcp everybody. Default: none."`
	Requests int      `json:"requests,omitempty" example:"4096" jsonschema:"Requests that are under way at once. Default: 4096."`
	Streams  int      `json:"streams,omitempty" example:"256" jsonschema:"Streams of events that one principal follows at once. Default: 256."`
}

// TLS names a certificate.
type TLS struct {
	_    struct{} `noun:"tls" required:"cert,key" example:"{'cert': 'venue.crt', 'key': 'venue.key'}"`
	Cert string   `json:"cert" example:"venue.crt" jsonschema:"File of the certificate chain (PEM), relative to the configuration. It is read again when it changes."`
	Key  string   `json:"key" example:"venue.key" jsonschema:"File of its key (PEM)."`
}

// ACME says for which hosts certificates are fetched (RFC 8555).
type ACME struct {
	_         struct{} `noun:"acme" required:"hosts" example:"{'hosts': ['venue.example.org']}"`
	Hosts     []string `json:"hosts" noun:"a host" each:"its text" example:"['venue.example.org']" jsonschema:"Names of the venue. The authority reaches them at port 443."`
	Directory string   `json:"directory,omitempty" example:"https://ca.example.org/acme/directory" jsonschema:"URL of the authority's directory. Default: Let's Encrypt."`
}

// Check says what is wrong with the section.
func (s *Server) Check() error {
	for _, origin := range s.CORS {
		if err := checkOrigin(origin); err != nil {
			return form.In("cors", err)
		}
	}
	for _, host := range s.Hosts {
		if !isHostName(host) {
			return form.In("hosts", fmt.Errorf("%.100q is no name of a host: write it as venue.example.org, without a port", host))
		}
	}
	if s.TLS != (TLS{}) && len(s.ACME.Hosts) > 0 {
		return form.In("acme", errors.New("there is a certificate under tls, too: write one of them"))
	}
	if err := CheckMetrics(s.Metrics); err != nil {
		return form.In("metrics", err)
	}
	if s.Clash() {
		return form.In("metrics", errors.New("listen has that address: give another one"))
	}
	return nil
}

// Clash reports whether listen and metrics are one address, which one of them alone can have.
func (s *Server) Clash() bool {
	return s.Metrics != "" && s.Metrics == s.Listen && !strings.HasSuffix(s.Metrics, ":0") // a port that is free
}

// CheckMetrics says why a text is no address for /metrics; none is none.
func CheckMetrics(at string) error {
	if at == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(at)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("%.100q is no HOST:PORT", at)
	}
	return nil
}

// checkOrigin says why a text is no origin (RFC 6454): scheme://host, with a port where it
// is not the usual one, and nothing behind.
func checkOrigin(text string) error {
	at, err := url.Parse(text)
	if err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" || text != at.Scheme+"://"+at.Host || strings.ToLower(text) != text {
		return fmt.Errorf("%.100q is no origin: write it as https://app.example.org, without a path", text)
	}
	return nil
}

// Check says what is wrong with hosts.
func (a *ACME) Check() error {
	for _, host := range a.Hosts {
		if !isHostName(host) {
			return form.In("hosts", fmt.Errorf("%.100q is no name of a host: certificates are for names such as venue.example.org", host))
		}
	}
	if u, err := url.Parse(a.Directory); a.Directory != "" && (err != nil || u.Host == "" || u.Scheme != "https") {
		return form.In("directory", errors.New("this is no https URL"))
	}
	return nil
}

func isHostName(host string) bool {
	return host != "" && strings.Trim(strings.ToLower(host), "abcdefghijklmnopqrstuvwxyz0123456789-.") == "" && net.ParseIP(host) == nil
}

// File is the path of a file that the configuration names.
func (c *Config) File(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(c.Dir, name)
}

// server finds files of a certificate that are not there.
func (l *linter) server() {
	tls := &l.config.Server.TLS
	for key, name := range map[string]string{"cert": tls.Cert, "key": tls.Key} {
		if name == "" {
			continue
		}
		if _, err := os.Stat(l.config.File(name)); err != nil {
			l.report(LevelWarning, "server", key+" of tls cannot be read: "+err.Error(), "usher serve needs it: put the file there, or name another", "tls", key)
		}
	}
}
