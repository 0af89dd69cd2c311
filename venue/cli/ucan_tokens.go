package cli

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"usher/tools/delegation"
	"usher/tools/reach"
)

// maxTokenFile bounds a file of tokens, in bytes.
const maxTokenFile = 4 << 20

// tokensBy reads the tokens and revocations that read finds under the names, in their
// order. One that cannot be read is an error; a bad token is one of the items.
func tokensBy(read func(name string) ([]byte, error), names []string) (items []delegation.Item, err error) {
	if i := slices.Index(names, "-"); i >= 0 && slices.Contains(names[i+1:], "-") {
		return nil, misusef("- is standard input, which can be read once")
	}
	for _, name := range names {
		data, err := read(name)
		if err != nil {
			return nil, err
		}
		name = sourcesOf(name)
		const sealedHead = 0x82 // a CBOR list of two, with which no text begins
		if len(data) > 0 && data[0] == sealedHead {
			items = append(items, delegation.Read(name, "u"+base64.RawURLEncoding.EncodeToString(data)))
			continue
		}
		for i, line := range bytes.Split(data, []byte("\n")) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				items = append(items, delegation.Read(fmt.Sprintf("%s:%d", name, i+1), string(line)))
			}
		}
	}
	return items, nil
}

// sourcesOf names files of tokens as people are told: of a URL its host alone, as the rest
// may be a secret.
func sourcesOf(names ...string) string {
	out := slices.Clone(names)
	for i, name := range names {
		switch at, err := url.Parse(name); {
		case name == "-":
			out[i] = "standard input"
		case !strings.Contains(name, "://"):
		case err != nil:
			out[i] = "a URL"
		default:
			out[i] = at.Host
		}
	}
	return strings.Join(out, ", ")
}

func (s *streams) readAll(name string) ([]byte, error) {
	in, err := s.source(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, maxTokenFile+1))
	if err != nil {
		return nil, misusef("read tokens: %w", err)
	}
	return data, checkSize(name, data)
}

// checkSize says that what was read is more than tokens are.
func checkSize(name string, data []byte) error {
	if len(data) > maxTokenFile {
		return misusef("%s is larger than %d MiB: tokens are a few KiB each", name, maxTokenFile>>20)
	}
	return nil
}

// someTokens is tokensBy where there has to be one.
func someTokens(read func(name string) ([]byte, error), names []string) ([]delegation.Item, error) {
	items, err := tokensBy(read, names)
	if err == nil && len(items) == 0 {
		err = fmt.Errorf("there is no token in %s", sourcesOf(names...))
	}
	return items, err
}

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
	return data, checkSize(at.Host, data)
}
