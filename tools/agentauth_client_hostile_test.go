package tools_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"usher/tools/agentauth/client"
)

// server answers discovery with a document in which {self} is its own URL, and all else by
// the handler.
func server(t *testing.T, document string, rest http.HandlerFunc) string {
	t.Helper()
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	mux.HandleFunc("GET /.well-known/agent-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.ReplaceAll(document, "{self}", s.URL))
	})
	if rest != nil {
		mux.HandleFunc("/", rest)
	}
	return s.URL
}

const plainDocument = `{"version":"1.0-draft","provider_name":"x","issuer":"{self}","default_location":"{self}/capability/execute","endpoints":{}}`

// No token goes elsewhere than to the server that was named.
func TestADocumentThatLeadsElsewhereIsRefused(t *testing.T) {
	for name, tt := range map[string]struct{ document, want string }{
		"its own, whole":       {`{"version":"1","issuer":"{self}","endpoints":{"register":"{self}/agent/register"}}`, ""},
		"its own, below":       {`{"version":"1","issuer":"{self}/api/auth","endpoints":{"register":"/agent/register"}}`, ""},
		"an issuer elsewhere":  {`{"version":"1","issuer":"https://evil.example","endpoints":{}}`, "issuer"},
		"an endpoint":          {`{"version":"1","issuer":"{self}","endpoints":{"execute":"https://evil.example/x"}}`, "endpoint execute"},
		"without a scheme":     {`{"version":"1","issuer":"{self}","endpoints":{"execute":"//evil.example/x"}}`, "endpoint execute"},
		"with a user name":     {`{"version":"1","issuer":"{self}","endpoints":{"execute":"http://a@evil.example/x"}}`, "endpoint execute"},
		"a scheme of its own":  {`{"version":"1","issuer":"{self}","endpoints":{"execute":"file:///etc/passwd"}}`, "endpoint execute"},
		"no configuration":     {`{}`, "no configuration"},
		"no JSON":              {`<html>`, "not what the protocol has"},
		"more than is read":    {`{"version":"` + strings.Repeat("x", 5<<20) + `"}`, "longer than"},
		"a default_location":   {`{"version":"1","issuer":"{self}","default_location":"https://evil.example/x","endpoints":{}}`, "default_location"},
		"another port":         {`{"version":"1","issuer":"http://127.0.0.1:1","endpoints":{}}`, "issuer"},
		"an issuer of no host": {`{"version":"1","issuer":"http:","endpoints":{}}`, "issuer"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := client.Discover(t.Context(), server(t, tt.document, nil), nil)
			if err == nil && tt.want != "" {
				_, err = s.Location()
			}
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Discover = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	at := server(t, plainDocument, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	a := agent(t, at)
	refused := new(client.Refusal)
	if _, err := a.Status(t.Context()); !errors.As(err, &refused) || refused.Status != http.StatusTemporaryRedirect {
		t.Errorf("Status = %v, want the redirect", err)
	}
}

func agent(t *testing.T, at string) *client.Agent {
	t.Helper()
	s, err := client.Discover(t.Context(), at, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return s.Host(key).Agent("agt_1", key)
}

func TestStreams(t *testing.T) {
	for name, tt := range map[string]struct{ body, data, err string }{
		"done with data":    {"event: data\ndata: {\"n\":1}\n\nevent: done\ndata: {\"sum\":1}\n\n", `{"sum":1} [{"n":1}]`, ""},
		"done, empty":       {"event: data\ndata: 1\n\n: beat\n\nevent: data\ndata: 2\n\nevent: done\ndata:\n\n", ` [1 2]`, ""},
		"an error":          {"event: data\ndata: 1\n\nevent: error\ndata: {\"error\":\"agent_revoked\",\"message\":\"it ended\"}\n\n", ` [1]`, "agent_revoked: it ended"},
		"no JSON":           {"data: it, comes\n\nevent: done\ndata: 1\n\n", `1 ["it, comes"]`, ""},
		"cut":               {"event: data\ndata: 1\n\n", ` [1]`, "before it was done"},
		"longer than it is": {"event: data\ndata: " + strings.Repeat("x", 5<<20) + "\n\n", ` []`, "before it was done"},
	} {
		t.Run(name, func(t *testing.T) {
			at := server(t, plainDocument, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
				_, _ = io.WriteString(w, tt.body)
			})
			got, err := agent(t, at).Execute(t.Context(), &client.Call{Capability: "x"}, nil)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("Execute = %v, want %q", err, tt.err)
			}
			if text := fmt.Sprintf("%s %s", got.Data, got.Chunks); text != tt.data {
				t.Errorf("it says %.200s, want %s", text, tt.data)
			}
		})
	}
}

// transport answers in memory, for time that is not real.
type transport func(*http.Request) (int, string, string)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) {
	status, after, body := f(r)
	res := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}
	res.Header.Set("Retry-After", after)
	return res, nil
}

// Polls wait longer and longer, never less than the server asks for, each with a token of
// its own; a status elsewhere is not asked for.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var at []int
		tokens := map[string]bool{}
		hc := &http.Client{Transport: transport(func(r *http.Request) (int, string, string) {
			if strings.HasSuffix(r.URL.Path, "agent-configuration") {
				return 200, "", strings.ReplaceAll(plainDocument, "{self}", "https://a.example")
			}
			at = append(at, int(time.Since(begun).Seconds()))
			tokens[r.Header.Get("Authorization")] = true
			switch len(at) {
			case 1:
				return 202, "5", `{"status":"pending"}`
			case 2:
				return 429, "7", `{"error":"rate_limited","message":"slower"}`
			case 3:
				return 202, "", `{"status":"pending"}`
			}
			return 200, "", `{"status":"completed","data":{"n":1}}`
		})}
		s, err := client.Discover(t.Context(), "https://a.example", &client.Options{HTTP: hc})
		if err != nil {
			t.Fatal(err)
		}
		_, key, _ := ed25519.GenerateKey(nil)
		a := s.Host(key).Agent("agt_1", key)
		call := &client.Call{Capability: "x"}
		got, err := a.Wait(t.Context(), call, &client.Answer{Status: client.Pending, StatusURL: "https://a.example/j/1"})
		if err != nil || string(got.Data) != `{"n":1}` {
			t.Fatalf("Wait = %+v, %v", got, err)
		}
		if text := fmt.Sprint(at); text != "[1 6 13 21]" || len(tokens) != 4 {
			t.Errorf("it polls at %s s with %d tokens, want [1 6 13 21] and 4", text, len(tokens))
		}
		if _, err := a.Wait(t.Context(), call, &client.Answer{Status: client.Pending, StatusURL: "https://b.example/j/1"}); err == nil || len(at) != 4 {
			t.Errorf("Wait of a status elsewhere = %v", err)
		}
	})
}

// Whoever runs a capability elsewhere gets tokens that are good there, and none to be the
// agent at the server by.
func TestAStatusElsewhereGetsNoTokenOfTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type claims struct {
			Aud          string   `json:"aud"`
			Capabilities []string `json:"capabilities"`
		}
		var sent []claims
		hc := &http.Client{Transport: transport(func(r *http.Request) (int, string, string) {
			if strings.HasSuffix(r.URL.Path, "agent-configuration") {
				return 200, "", strings.ReplaceAll(plainDocument, "{self}", "https://a.example")
			}
			var c claims
			parts := strings.Split(r.Header.Get("Authorization"), ".")
			raw, err := base64.RawURLEncoding.DecodeString(parts[1])
			if err != nil || json.Unmarshal(raw, &c) != nil {
				t.Errorf("the token of %s is none", r.URL)
			}
			if sent = append(sent, c); len(sent) == 1 {
				return 202, "", `{"status":"pending","status_url":"https://b.example/j/1"}`
			}
			return 200, "", `{"status":"completed"}`
		})}
		s, err := client.Discover(t.Context(), "https://a.example", &client.Options{HTTP: hc})
		if err != nil {
			t.Fatal(err)
		}
		_, key, _ := ed25519.GenerateKey(nil)
		a := s.Host(key).Agent("agt_1", key)
		call := &client.Call{Capability: "x", Location: "https://b.example/run"}
		pending, err := a.Execute(t.Context(), call, nil)
		if err == nil {
			_, err = a.Wait(t.Context(), call, pending)
		}
		if err != nil || len(sent) != 2 {
			t.Fatalf("Wait = %v after %d requests, want 2", err, len(sent))
		}
		for i, c := range sent {
			if c.Aud != call.Location || len(c.Capabilities) != 1 || c.Capabilities[0] != "x" {
				t.Errorf("token %d for elsewhere is %+v, want one for %s and x alone", i, c, call.Location)
			}
		}
	})
}

// A server has no way to fill an error with words of its own.
func TestErrorsAreShort(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, document := range map[string]string{
		"an issuer":   `{"version":"1","issuer":"https://` + long + `","endpoints":{}}`,
		"an endpoint": `{"version":"1","issuer":"{self}","endpoints":{"` + long + `":"https://` + long + `"}}`,
		"a number":    `{"version":1` + strings.Repeat("0", 1<<20) + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := client.Discover(t.Context(), server(t, document, nil), nil); err == nil || len(err.Error()) > 1<<10 {
				t.Errorf("Discover = %.300v, want a short error", err)
			}
		})
	}
}

// RFC 8037, appendix A.3: the thumbprint of its key.
func TestThumbprint(t *testing.T) {
	var key ed25519.PublicKey
	if err := json.Unmarshal([]byte(`"11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="`), (*[]byte)(&key)); err != nil {
		t.Fatal(err)
	}
	if got := client.Thumbprint(key); got != "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k" {
		t.Errorf("Thumbprint = %s", got)
	}
}
