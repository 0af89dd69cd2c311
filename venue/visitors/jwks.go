package visitors

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"usher/tools/reach"
	"usher/ucan"
)

// Bounds of keys at a URL.
const (
	jwksTime = 5 * time.Second
	jwksLife = 5 * time.Minute  // that keys are believed without asking again
	jwksWait = 10 * time.Second // between two questions
	maxJWKS  = 64 << 10         // bytes
	maxKeys  = 32
	maxKID   = 256  // bytes
	maxURLs  = 1024 // remembered
	maxURL   = 1 << 10
)

// jwksCache has the keys at URLs.
type jwksCache struct {
	mu    sync.Mutex
	urls  map[string]jwksEntry
	fetch singleflight.Group // by URL
}

type jwksEntry struct {
	at, asked time.Time           // when the keys were there, and when they were asked for
	keys      map[string]ucan.DID // by kid; nobody changes it
}

func (c *jwksCache) get(at string) jwksEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.urls[at]
}

func (c *jwksCache) put(at string, e jwksEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, has := c.urls[at]; c.urls == nil || !has && len(c.urls) >= maxURLs {
		c.urls = make(map[string]jwksEntry)
	}
	c.urls[at] = e
}

// key returns the key of a kid as it was known within [jwksLife].
func (e *jwksEntry) key(kid string, now time.Time) (key ucan.DID, has bool) {
	if now.Sub(e.at) > jwksLife {
		return key, false
	}
	key, has = e.keys[kid]
	return key, has
}

// fetchKey returns the key of a kid at a URL.
func (r *Room) fetchKey(ctx context.Context, at, kid string) (ucan.DID, error) {
	u, err := url.Parse(at)
	private := r.set.Load().AllowPrivate
	if err != nil || len(at) > maxURL || u.Host == "" || u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || !private) {
		return ucan.DID{}, refuse(invalidKey, "the URL of the keys is none of https")
	}
	if kid == "" {
		return ucan.DID{}, refuse(invalidKey, "which key is meant is missing: a JWT whose key is at a URL has kid")
	}
	e := r.keys.get(at)
	key, has := e.key(kid, r.Now())
	if !has {
		said, _, _ := r.keys.fetch.Do(at, func() (any, error) { return r.refresh(ctx, at, private), nil })
		e, _ = said.(jwksEntry)
		key, has = e.key(kid, r.Now())
	}
	if !has {
		return ucan.DID{}, refuse(invalidKey, "there is no Ed25519 key with the kid of the JWT at the URL of the keys")
	}
	return key, nil
}

// refresh asks for keys, where nobody has just done so, also for others than its caller. Where they
// are not to be had, those from before count on for their time.
func (r *Room) refresh(ctx context.Context, at string, private bool) jwksEntry {
	e := r.keys.get(at)
	if r.Now().Sub(e.asked) <= jwksWait {
		return e
	}
	keys, err := fetch(context.WithoutCancel(ctx), at, private)
	e.asked = r.Now()
	if err == nil {
		e.at, e.keys = e.asked, keys
	} else {
		r.Logger.InfoContext(ctx, "the keys of a visitor are not there", "url", at, "error", err)
	}
	r.keys.put(at, e)
	return e
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
	client := reach.Client(reach.Transport(jwksTime, private))
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
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	if err != nil {
		return nil, err
	}
	keys := make(map[string]ucan.DID)
	for i := range set.Keys[:min(len(set.Keys), maxKeys)] {
		k := &set.Keys[i]
		if key, err := k.did(); err == nil && k.Kid != "" && len(k.Kid) <= maxKID {
			keys[k.Kid] = key
		}
	}
	return keys, nil
}
