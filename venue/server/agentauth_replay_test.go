package server_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Each endpoint takes a JWT once.
func TestReplayAtEveryEndpoint(t *testing.T) {
	w := visitorOpen(t, nil)
	h := w.host()
	a := h.approved(object{"capabilities": []any{"read_account"}})
	for _, c := range []struct {
		name, method, path string
		agent              bool
		body               object
	}{
		{"status by the host", "GET", "/agent/status?agent_id=" + a.id, false, nil},
		{"status by the agent", "GET", "/agent/status", true, nil},
		{"list", "GET", "/capability/list", true, nil},
		{"list by the host", "GET", "/capability/list", false, nil},
		{"describe", "GET", "/capability/describe?name=read_account", true, nil},
		{"reactivate", "POST", "/agent/reactivate", false, object{"agent_id": a.id}},
		{"request", "POST", "/agent/request-capability", true, object{"capabilities": []any{"write_account"}}},
		{"execute", "POST", "/capability/execute", true, object{"capability": "read_account", "arguments": object{"path": "w/accounts/one"}}},
		{"batch", "POST", "/capability/batch-execute", true, object{"requests": []any{object{"capability": "read_account", "arguments": object{"path": "w/accounts/one"}}}}},
		{"revoke a capability", "POST", "/agent/revoke-capability", false, object{"agent_id": a.id, "capabilities": []any{"write_account"}}},
		{"rotate the agent's key", "POST", "/agent/rotate-key", false, object{"agent_id": a.id, "public_key": a.key.public}},
		{"revoke", "POST", "/agent/revoke", false, object{"agent_id": a.id}},
		{"revoke the host", "POST", "/host/revoke", false, object{}},
	} {
		token := h.jwt(nil)
		if c.agent {
			token = a.jwt(nil)
		}
		first, out := visitorSend(w, c.method, c.path, token, c.body)
		if first == http.StatusUnauthorized {
			t.Errorf("%s: %d %v", c.name, first, out)
		}
		if c.name == "revoke the host" {
			continue
		}
		status, out := visitorSend(w, c.method, c.path, token, c.body)
		w.want(c.name+" again", status, out, 401, "jti_replay")
	}
}

func visitorSend(w *world, method, path, token string, body object) (int, object) {
	if method == "GET" {
		return w.get(path, token)
	}
	return w.post(path, token, body)
}

// A jti is good once, also in a JWT that was signed at another time.
func TestJTIOfAnotherTime(t *testing.T) {
	w := visitorOpen(t, nil)
	h := w.host()
	a := h.approved(object{"capabilities": []any{"read_account"}})
	now := w.now().Unix()
	for name, jwt := range map[string]func(object) string{"agent": a.jwt, "host": h.jwt} {
		path := "/agent/status?agent_id=" + a.id
		if status, out := w.get(path, jwt(object{"jti": "one", "iat": now, "exp": now + 50})); status != 200 {
			t.Errorf("%s: %d %v", name, status, out)
		}
		status, out := w.get(path, jwt(object{"jti": "one", "iat": now + 1, "exp": now + 51}))
		w.want(name, status, out, 401, "jti_replay")
	}
}

// A header that says nothing of who calls makes nobody a caller without one.
func TestHeadersThatProveNothing(t *testing.T) {
	w := visitorOpen(t, nil)
	for name, sent := range map[string][]string{"no text": {""}, "no token": {"Bearer "}, "another scheme": {"Basic eDp5"}, "a second one": {"", "Bearer x"}} {
		for _, path := range []string{"/capability/list", "/capability/describe?name=read_account", "/agent/status", "/agent/ciba/pending"} {
			req, err := http.NewRequestWithContext(t.Context(), "GET", w.server.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header["Authorization"] = sent
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != http.StatusUnauthorized || res.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s at %s: %s", name, path, res.Status)
			}
		}
	}
}

// JWTs that prove nothing.
func TestJWTs(t *testing.T) {
	w := visitorOpen(t, nil)
	h := w.host()
	a := h.approved(object{"capabilities": []any{"read_account"}})
	now := w.now().Unix()
	other := visitorNewKey()
	stolen := *a
	stolen.key = other
	for _, c := range []struct {
		name, token, code string
	}{
		{"no JWT", "", "unauthorized"},
		{"no jti", a.jwt(object{"jti": nil}), "invalid_jwt"},
		{"a long life", a.jwt(object{"exp": now + 61}), "invalid_jwt"},
		{"no exp", a.jwt(object{"exp": nil}), "invalid_jwt"},
		{"expired", a.jwt(object{"iat": now - 100, "exp": now - 40}), "invalid_jwt"},
		{"of the future", a.jwt(object{"iat": now + 40, "exp": now + 90}), "invalid_jwt"},
		{"another aud", a.jwt(object{"aud": "https://bank.example.org"}), "invalid_jwt"},
		{"the location of another", a.jwt(object{"aud": "https://bank.example.org/run", "capabilities": []any{"elsewhere"}}), "invalid_jwt"},
		{"another key", stolen.jwt(nil), "invalid_jwt"},
		{"no such agent", w.sign(a.key, "agent+jwt", object{"sub": "agt_none"}), "invalid_jwt"},
		{"another iss", a.jwt(object{"iss": other.thumb}), "invalid_jwt"},
		{"the type of a host", w.sign(a.key, "host+jwt", object{"sub": a.id}), "invalid_jwt"},
		{"no type", w.signRaw(a.key, object{"alg": "EdDSA"}, object{"sub": a.id, "aud": w.server.URL, "iat": now, "exp": now + 60, "jti": "a"}), "invalid_jwt"},
		{"alg none", w.signRaw(a.key, object{"alg": "none", "typ": "agent+jwt"}, object{"sub": a.id, "aud": w.server.URL, "iat": now, "exp": now + 60, "jti": "b"}), "invalid_jwt"},
		{"alg HS256", w.signRaw(a.key, object{"alg": "HS256", "typ": "agent+jwt"}, object{"sub": a.id, "aud": w.server.URL, "iat": now, "exp": now + 60, "jti": "c"}), "invalid_jwt"},
		{"another method", a.jwt(object{"htm": "GET"}), "request_binding_mismatch"},
		{"another body", a.jwt(object{"ath": "x"}), "request_binding_mismatch"},
	} {
		for _, at := range []string{"POST /capability/execute", "GET /capability/list", "GET /agent/status"} {
			method, path, _ := strings.Cut(at, " ")
			if c.token == "" && path == "/capability/list" || method == "GET" && strings.HasPrefix(c.name, "another method") {
				continue
			}
			status, out := visitorSend(w, method, path, c.token, object{"capability": "read_account"})
			w.want(c.name+" at "+path, status, out, 401, c.code)
		}
	}
	for _, claims := range []object{
		{"iss": h.key.thumb},
		{"iss": a.was["host_id"]},
		{"aud": w.server.URL + "/capability/execute"},
		{"aud": []any{"https://other.example.org", w.server.URL}},
		{"iat": now + 10, "exp": now + 70},
		{"iat": now - 80, "exp": now - 20},
	} {
		if status, out := w.get("/agent/status", a.jwt(claims)); status != http.StatusOK {
			t.Errorf("%v: %d %v", claims, status, out)
		}
	}
}

// What the capabilities claim leaves out is not executed, also not by a batch, and the grants
// stay as they are.
func TestClaimNarrows(t *testing.T) {
	w := visitorOpen(t, nil)
	a := w.host().approved(object{"capabilities": []any{"read_account", "write_account"}}, "read_account", object{"name": "write_account", "constraints": object{"value": object{"max": 10}}})
	token := func() string { return a.jwt(object{"capabilities": []any{"read_account"}}) }
	status, out := w.post("/capability/execute", token(), object{"capability": "write_account", "arguments": object{"path": "w/accounts/one", "value": 99}})
	w.want("left out", status, out, 403, "capability_not_granted")
	status, out = w.post("/capability/batch-execute", token(), object{"requests": []any{
		object{"id": "a", "capability": "write_account", "arguments": object{"path": "w/accounts/one", "value": 1}},
		object{"id": "b", "capability": "read_account", "arguments": object{"path": "w/accounts/one"}},
	}})
	list, _ := out["responses"].([]any)
	if status != 200 || len(list) != 2 || list[0].(object)["status"] != "failed" || list[1].(object)["status"] != "completed" {
		t.Errorf("batch: %d %v", status, out)
	}
	status, out = a.execute("write_account", object{"path": "w/accounts/one", "value": 99})
	w.want("the constraint stands", status, out, 403, "constraint_violated")
	if status, out := a.execute("write_account", object{"path": "w/accounts/one", "value": 9}); status != 200 {
		t.Errorf("within: %d %v", status, out)
	}
}

// Nothing large is read for who may be anybody, and what an execute says is read for agents alone.
func TestStrangersHaveLittleRead(t *testing.T) {
	w := visitorOpen(t, nil)
	status, out := w.post("/agent/register", "", object{"name": strings.Repeat("x", 100<<10)})
	w.want("a long registration", status, out, 413, "too_large")
	for _, path := range []string{"/capability/execute", "/capability/batch-execute"} {
		status, out := w.post(path, "", []any{"no execute"})
		w.want(path, status, out, 401, "unauthorized")
		for _, length := range []string{"Content-Length: 1048576", "Transfer-Encoding: chunked"} {
			conn, err := net.Dial("tcp", w.server.Listener.Addr().String())
			if err == nil {
				err = conn.SetDeadline(time.Now().Add(20 * time.Second))
			}
			if err == nil {
				_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n%s\r\n\r\n", path, w.sign(visitorNewKey(), "agent+jwt", object{"sub": "agt_none"}), length)
			}
			if err != nil {
				t.Fatal(err)
			}
			if said, err := bufio.NewReader(conn).ReadString('\n'); !strings.Contains(said, " 401 ") {
				t.Errorf("%s, %s, none of which comes: %q, %v", path, length, said, err)
			}
			conn.Close()
		}
	}
	a := w.host().approved(object{"capabilities": []any{"read_account"}})
	long := []byte(`{"capability":"read_account","arguments":{"path":"w/accounts/one"}` + strings.Repeat(" ", 1<<20) + `}`)
	sum := sha256.Sum256(long)
	for name, tt := range map[string]struct {
		ath  any
		want int
	}{"not bound": {nil, 200}, "bound": {base64.RawURLEncoding.EncodeToString(sum[:]), 200}, "bound to another": {"x", 401}} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", w.server.URL+"/capability/execute", bytes.NewReader(long))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+a.jwt(object{"ath": tt.ath}))
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if res.Body.Close(); res.StatusCode != tt.want {
			t.Errorf("a long execute that is %s: %s", name, res.Status)
		}
	}
}
