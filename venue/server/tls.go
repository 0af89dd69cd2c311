package server

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// Certificate is TLS by a certificate and its key in PEM files, which are read again when
// they change. What cannot be read then is logged, and the one before stays.
func Certificate(cert, key string, log *slog.Logger) (*tls.Config, error) {
	p := &pair{cert: cert, key: key, log: log}
	if err := p.read(); err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: p.get}, nil
}

// ACME is TLS by certificates that an authority issues for hosts, as they are needed
// (RFC 8555, by tls-alpn-01: the authority reaches each at port 443). They are kept in dir.
// directory is the URL of the authority's; empty is Let's Encrypt, whose terms are agreed to.
func ACME(hosts []string, dir, directory string) *tls.Config {
	m := &autocert.Manager{Prompt: autocert.AcceptTOS, HostPolicy: autocert.HostWhitelist(hosts...), Cache: autocert.DirCache(dir)}
	if directory != "" {
		m.Client = &acme.Client{DirectoryURL: directory}
	}
	c := m.TLSConfig()
	c.MinVersion = tls.VersionTLS12
	return c
}

// lookEvery is how often the files are looked at, at most.
const lookEvery = time.Second

// pair is a certificate in two files.
type pair struct {
	cert, key string
	log       *slog.Logger

	mu     sync.Mutex
	has    *tls.Certificate
	of     [2]mark // of the files that it was tried with last
	looked time.Time
}

// mark changes with a file.
type mark struct {
	at   time.Time
	size int64
}

func (p *pair) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); now.Sub(p.looked) >= lookEvery {
		p.looked = now
		if of, err := p.marks(); err != nil || of != p.of {
			if err := p.read(); err != nil {
				p.log.Error("a certificate that changed is not taken", "error", err)
			}
		}
	}
	return p.has, nil
}

func (p *pair) marks() (of [2]mark, err error) {
	for i, name := range []string{p.cert, p.key} {
		at, err := os.Stat(name)
		if err != nil {
			return of, err
		}
		of[i] = mark{at.ModTime(), at.Size()}
	}
	return of, nil
}

// read reads the files; one that fails leaves what there was.
func (p *pair) read() error {
	of, err := p.marks()
	if err != nil {
		return fmt.Errorf("read certificate: %w", err)
	}
	has, err := tls.LoadX509KeyPair(p.cert, p.key)
	if err != nil {
		return fmt.Errorf("read certificate %s with key %s: %w", p.cert, p.key, err)
	}
	p.has, p.of = &has, of
	return nil
}
