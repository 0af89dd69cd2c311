package server_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"usher/caps/value"
	"usher/venue/a2a"
)

func TestCards(t *testing.T) {
	p := serve(t, "a2a: {url: 'https://venue.example.org', agents: [bob]}\n")
	none := a2aAsk{token: "-"}
	resp := p.request(t, none, "GET", a2a.CardPath, "")
	card := read(t, resp)
	if card.at("skills.id") != "bob" || card.at("skills.description") != "Keeps notes." || strings.Contains(card.raw, "carol") {
		t.Errorf("the public card shows %s", card.raw)
	}
	if card.at("supportedInterfaces.url") != "https://venue.example.org/a2a" || card.at("url") != "https://venue.example.org/a2a" {
		t.Errorf("the card's address: %s", card.raw)
	}
	tag := resp.Header.Get("ETag")
	if again := p.request(t, a2aAsk{token: "-", head: map[string]string{"If-None-Match": tag}}, "GET", a2a.CardPath, ""); tag == "" || again.StatusCode != http.StatusNotModified {
		t.Errorf("with the tag %q it is %s", tag, again.Status)
	}
	signed := card.result["signatures"].([]any)[0].(map[string]any)
	delete(card.result, "signatures")
	raw, err := json.Marshal(card.result)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := value.Decode(raw, 100)
	if err != nil {
		t.Fatal(err)
	}
	sig, err := base64.RawURLEncoding.DecodeString(signed["signature"].(string))
	if err != nil {
		t.Fatal(err)
	}
	said := signed["protected"].(string) + "." + base64.RawURLEncoding.EncodeToString(value.Append(nil, tree))
	if !ed25519.Verify(p.venue.DID().PublicKey(), []byte(said), sig) {
		t.Error("the signature does not verify")
	}
	for path, want := range map[string]int{"/a2a/bob": http.StatusOK, "/a2a/carol": http.StatusNotFound, "/a2a/nobody": http.StatusNotFound} {
		if r := p.request(t, none, "GET", path+a2a.CardPath, ""); r.StatusCode != want {
			t.Errorf("the card of %s for a stranger: %s, want %d", path, r.Status, want)
		}
	}
	mine := p.request(t, a2aAsk{}, "GET", "/a2a/carol"+a2a.CardPath, "")
	if cached := mine.Header.Get("Cache-Control"); mine.StatusCode != http.StatusOK || !strings.HasPrefix(cached, "private") {
		t.Errorf("the card of carol for alice: %s, %s", mine.Status, cached)
	}
	if r := p.rpc(t, a2aAsk{}, "", "GetExtendedAgentCard", `{}`); !strings.Contains(r.raw, "carol") {
		t.Errorf("the extended card: %s", r.raw)
	}
	open := serve(t, "")
	if r := read(t, open.request(t, none, "GET", a2a.CardPath, "")); r.result["signatures"] != nil {
		t.Errorf("a card with the caller's word in it is signed: %s", r.raw)
	}
}

func TestTheOldVersion(t *testing.T) {
	p := serve(t, "")
	old := a2aAsk{version: "-"}
	const hi = `{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"hi"},{"kind":"data","data":{"n":1}}]}}`
	r := p.rpc(t, old, "/bob", "message/send", hi)
	if r.at("kind") != "task" || r.at("status.state") != "completed" || r.at("artifacts.parts.kind") != "text" || r.at("history.role") != "user" || r.head.Get("A2A-Version") != "0.3" {
		t.Errorf("message/send: %s", r.raw)
	}
	id := r.at("id").(string)
	if r := p.rpc(t, a2aAsk{version: "0.3"}, "/bob", "tasks/get", `{"id":"`+id+`"}`); r.at("id") != id {
		t.Errorf("tasks/get: %s", r.raw)
	}
	list := events(t, p.request(t, old, "POST", "/a2a/bob", `{"jsonrpc":"2.0","id":1,"method":"message/stream","params":`+hi+`}`))
	if last := list[len(list)-1]; list[0].at("kind") != "task" || last.at("kind") != "status-update" || last.at("final") != true {
		t.Errorf("message/stream: %v", last.raw)
	}
	for method, want := range map[string]int{"tasks/cancel": -32002, "tasks/resubscribe": -32004, "SendMessage": -32601, "nothing": -32601} {
		if r := p.rpc(t, old, "/bob", method, `{"id":"`+id+`"}`); r.code != want {
			t.Errorf("%s: %s, want %d", method, r.raw, want)
		}
	}
	if r := p.rpc(t, a2aAsk{}, "/bob", "message/send", hi); r.code != -32601 {
		t.Errorf("an old method in 1.0: %s", r.raw)
	}
}
