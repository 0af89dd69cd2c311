package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"usher/tools/reach"
)

// fetchTime bounds how long tokens are fetched.
const fetchTime = 15 * time.Second

// fetchOr reads a file of tokens, or fetches it where its name is a URL.
func (s *streams) fetchOr(ctx context.Context) func(name string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		if !strings.Contains(name, "://") {
			return s.readAll(name)
		}
		return fetch(ctx, name, reach.Transport(fetchTime, false))
	}
}

// fetch is what is at an https URL, within the bounds of a file of tokens. Redirects are not
// followed. Errors name the host alone, as the rest may be a secret.
func fetch(ctx context.Context, address string, by http.RoundTripper) ([]byte, error) {
	at, err := url.Parse(address)
	if err != nil || at.Scheme != "https" || at.Host == "" {
		return nil, misusef("tokens are fetched by https alone: write https://host/path")
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, misusef("fetch tokens: this is no URL")
	}
	client := reach.Client(by)
	resp, err := client.Do(req)
	if of, ok := errors.AsType[*url.Error](err); ok {
		err = of.Err
	}
	if err != nil {
		return nil, fmt.Errorf("fetch tokens from %s: %w", at.Host, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetch tokens from %s: it answers %s", at.Host, resp.Status)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxTokenFile+1))
	if err != nil {
		return nil, fmt.Errorf("fetch tokens from %s: %w", at.Host, err)
	}
	return data, bounded(at.Host, data)
}
