package visitors

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"usher/tools/reach"
	"usher/ucan"
)

// Bounds of keys at a URL.
const (
	jwksTime = 5 * time.Second
	jwksLife = 5 * time.Minute  // that keys are believed without asking again
	jwksWait = 10 * time.Second // between two questions for a kid that is not there
	maxJWKS  = 64 << 10         // bytes
	maxKeys  = 32
	maxURLs  = 1024 // remembered
	maxURL   = 1 << 10
)

// jwksCache has the keys at URLs.
type jwksCache struct {
	mu   sync.Mutex
	urls map[string]*jwksEntry
}

type jwksEntry struct {
	mu   sync.Mutex // held while it is fetched
	at   time.Time
	keys map[string]ucan.DID // by kid
}

func (c *jwksCache) entry(at string) *jwksEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.urls[at]
	if e == nil {
		if c.urls == nil || len(c.urls) >= maxURLs {
			c.urls = make(map[string]*jwksEntry)
		}
		e = new(jwksEntry)
		c.urls[at] = e
	}
	return e
}

// fetchKey returns the key of a kid at a URL.
func (r *Room) fetchKey(ctx context.Context, at, kid string) (ucan.DID, error) {
	u, err := url.Parse(at)
	private := r.set.Load().AllowPrivate
	if err != nil || len(at) > maxURL || u.Host == "" || u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || !private) {
		return ucan.DID{}, refuse(InvalidKey, "the URL of the keys is none of https")
	}
	if kid == "" {
		return ucan.DID{}, refuse(InvalidKey, "which key is meant is missing: a JWT whose key is at a URL has kid")
	}
	e := r.keys.entry(at)
	e.mu.Lock()
	defer e.mu.Unlock()
	now := r.Now()
	key, has := e.keys[kid]
	if age := now.Sub(e.at); !has && age > jwksWait || age > jwksLife {
		keys, err := fetch(ctx, at, private)
		if e.at = now; err != nil {
			r.Logger.InfoContext(ctx, "the keys of a visitor are not there", "host", u.Host, "error", err)
		}
		e.keys = keys
		key, has = e.keys[kid]
	}
	if !has {
		return ucan.DID{}, refuse(InvalidKey, "there is no Ed25519 key with the kid of the JWT at the URL of the keys")
	}
	return key, nil
}

// fetch asks for keys. It connects to public addresses alone, unless private ones are
// allowed, and follows no redirect.
func fetch(ctx context.Context, at string, private bool) (map[string]ucan.DID, error) {
	ctx, cancel := context.WithTimeout(ctx, jwksTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/jwk-set+json, application/json")
	client := &http.Client{Transport: reach.Transport(jwksTime, private), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var set struct{ Keys []jwk }
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxJWKS))
	if err == nil {
		err = json.Unmarshal(raw, &set)
	}
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil, err
	}
	keys := make(map[string]ucan.DID)
	for i := range set.Keys[:min(len(set.Keys), maxKeys)] {
		k := &set.Keys[i]
		if key, err := k.did(); err == nil && k.Kid != "" {
			keys[k.Kid] = key
		}
	}
	return keys, nil
}
