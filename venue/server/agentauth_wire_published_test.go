package server_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"usher/tools/agentauth/client"
)

//go:embed testdata/wire/published.json
var published string

// exchange is a request of the published client, and what it needs of the answer.
type exchange struct {
	Name    string
	Request string
	Header  object // of its JWT
	Claims  object
	Body    any
	Again   bool // with the JWT of the request before
	Status  int  // 0 is any 2xx
	Has     []string
	Then    string // approve has the person answer
}

// The requests of the published client, in its order, as it sends them: it omits iss in the
// JWT of an agent, names the URL of execute in aud, and polls a status_url with the same JWT.
func TestPublishedClient(t *testing.T) {
	w := openWire(t)
	fill := func(text string) string {
		jwk := func(key client.JWK) string { return fmt.Sprintf(`{"kty":%q,"crv":%q,"x":%q}`, key.Kty, key.Crv, key.X) }
		fresh := w.claims(nil, nil)
		return strings.NewReplacer(
			`"{now}"`, fmt.Sprint(fresh["iat"]), `"{exp}"`, fmt.Sprint(fresh["exp"]), `{jti}`, fmt.Sprint(fresh["jti"]),
			`"{host key}"`, jwk(client.PublicJWK(public(w.hostKey))), `"{agent key}"`, jwk(client.PublicJWK(public(w.agentKey))),
			`{host}`, thumbprint(w.hostKey), `{agent kid}`, thumbprint(w.agentKey), `{agent}`, w.agent, `{issuer}`, w.url,
		).Replace(text)
	}
	var raw []json.RawMessage
	if err := json.Unmarshal([]byte(published), &raw); err != nil {
		t.Fatal(err)
	}
	token, status := "", ""
	for _, text := range raw {
		var e exchange
		if err := json.Unmarshal([]byte(strings.ReplaceAll(fill(string(text)), "{status_url}", status)), &e); err != nil {
			t.Fatal(err)
		}
		if !e.Again {
			token = ""
		}
		if e.Claims != nil {
			key := w.hostKey
			if e.Header["typ"] == "agent+jwt" {
				key = w.agentKey
			}
			token = sign(t, key, e.Header, e.Claims)
		}
		r := w.send(e.Request, token, e.Body)
		if e.Status != 0 && r.status != e.Status || r.status/100 != 2 {
			t.Fatalf("%s: %d %s, want %d", e.Name, r.status, r.text, e.Status)
		}
		for _, name := range e.Has {
			if _, ok := r.body[name]; !ok {
				t.Errorf("%s: the answer has no %s: %s", e.Name, name, r.text)
			}
		}
		w.note(r)
		if at, ok := r.body["status_url"].(string); ok {
			status = at
		}
		if e.Then == "approve" {
			w.must(w.answer(w.alice, "approve", nil))
		}
	}
}
