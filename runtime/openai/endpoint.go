package openai

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

const (
	defaultBaseURL = "https://api.openai.com/v1"
	azureV1        = "/openai/v1" // Azure's newer API, with paths like OpenAI's
)

// endpoint returns the address that requests go to.
func (o *Options) endpoint() (string, error) {
	u, err := o.base()
	if err != nil {
		return "", err
	}
	u.Path = strings.TrimRight(u.Path, "/")
	switch o.APIType {
	case "", APIOpenAI:
		if o.APIVersion != "" {
			return "", errors.New("api_version belongs to Azure: remove it, or set api_type: azure")
		}
		return u.JoinPath("chat", "completions").String(), nil
	case APIAzure:
	default:
		return "", fmt.Errorf("api_type is %q: use %s or %s", o.APIType, APIOpenAI, APIAzure)
	}
	if o.APIVersion != "" {
		u.RawQuery = url.Values{"api-version": {o.APIVersion}}.Encode()
	}
	if strings.HasSuffix(u.Path, azureV1) {
		return u.JoinPath("chat", "completions").String(), nil
	}
	if o.APIVersion == "" {
		return "", errors.New("api_version is missing: Azure needs one, for example 2024-10-21, unless base_url ends in " + azureV1)
	}
	if o.Model == "." || o.Model == ".." {
		return "", fmt.Errorf("model is %q: of Azure, name the deployment", o.Model)
	}
	return u.JoinPath("openai", "deployments", url.PathEscape(o.Model), "chat", "completions").String(), nil
}

func (o *Options) base() (*url.URL, error) {
	text := o.BaseURL
	if text == "" {
		if o.APIType == APIAzure {
			return nil, errors.New("base_url is missing: Azure needs the resource's own, for example https://NAME.openai.azure.com")
		}
		text = defaultBaseURL
	}
	u, err := url.Parse(text)
	if err != nil {
		// The parser's error repeats the address, and a password with it.
		return nil, errors.New("base_url is not an address: use one such as https://host/v1")
	}
	switch {
	case u.User != nil:
		return nil, errors.New("base_url holds a user name or password: remove it, and use key or headers")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("base_url ends in a query or fragment: remove it, and use api_version or headers")
	case u.Host == "" || u.Hostname() == "":
		return nil, fmt.Errorf("base_url %q names no host: use one such as https://host/v1", text)
	case strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions"):
		return nil, fmt.Errorf("base_url %q names the endpoint itself: remove /chat/completions", text)
	case u.Scheme == "https":
	case u.Scheme != "http":
		return nil, fmt.Errorf("base_url %q is neither https nor http: use one such as https://host/v1", text)
	case !o.AllowHTTP && !loopback(u.Hostname()):
		return nil, fmt.Errorf("base_url %q sends key and conversation unencrypted to another machine: use https, or set allow_http: true", text)
	}
	return u, nil
}

func loopback(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().IsLoopback()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// client makes the HTTP client. It follows no redirect: a redirect would take
// the conversation, and headers that are keys, to a host that nobody named.
func (o *Options) client(endpoint string) *http.Client {
	transport := o.Transport
	if transport == nil {
		transport = o.transport(endpoint)
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (o *Options) transport(endpoint string) http.RoundTripper {
	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
	}
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	if strings.HasPrefix(endpoint, "http://") && !o.AllowHTTP {
		// The name said loopback; what it resolves to must be.
		dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			if to, err := netip.ParseAddrPort(address); err != nil || !to.Addr().Unmap().IsLoopback() {
				return fmt.Errorf("%s is not this machine: use https, or set allow_http: true", address)
			}
			return nil
		}
		t.Proxy = nil
	}
	t.DialContext = dialer.DialContext
	return t
}
