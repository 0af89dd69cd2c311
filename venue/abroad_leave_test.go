package venue_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"usher/caps"
	"usher/runtime"
	"usher/runtime/offline"
	"usher/tools/agents"
	"usher/venue"
	"usher/venue/config"
	"usher/venue/server"
	"usher/venue/visitors"
)

// An agent that has ended is revoked where it was registered, also where the server answers
// later; one that is suspended is not. Where no server answers the ledger says so in the end.
func TestAgentsThatEndLeave(t *testing.T) {
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	open := func(yaml string) *venue.Venue {
		cfg, err := config.Parse("usher.yaml", []byte(yaml))
		if err != nil {
			t.Fatal(err)
		}
		v, err := venue.Open(t.Context(), &venue.Options{Config: cfg, Now: now, Idle: true, Models: map[string]runtime.Model{"default": offline.Model{}}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := v.Close(); err != nil {
				t.Error(err)
			}
		})
		return v
	}
	there := open(shopConfig + "  autonomous: {owner: owner, capabilities: [read_note]}\n")
	port, err := server.New(there, nil)
	if err != nil {
		t.Fatal(err)
	}
	var down atomic.Bool
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		port.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	host := strings.TrimPrefix(h.URL, "http://")
	home := open("name: Home\nagentauth: {private_servers: ['" + host + "']}\n")
	owner, err := home.User(t.Context(), "owner")
	if err != nil {
		t.Fatal(err)
	}
	shop, err := there.User(t.Context(), "owner")
	if err != nil {
		t.Fatal(err)
	}
	standing := func(name string) (status visitors.Status) {
		t.Helper()
		list, _, err := there.Visitors().Agents(t.Context(), shop.DID(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		for i := range list {
			if list[i].Name == name {
				return list[i].Status
			}
		}
		t.Fatalf("%s is not registered", name)
		return ""
	}
	left := func() (list []string) {
		t.Helper()
		for row, err := range home.Audit(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			var said struct{ Result, Detail string }
			if row.Note != "agent-auth elsewhere" {
				continue
			}
			if err := json.Unmarshal(row.Detail, &said); err != nil || (said.Detail == "") != (said.Result == "revoked") {
				t.Errorf("the row is %s, %v", row.Detail, err)
			}
			list = append(list, said.Result)
		}
		return list
	}
	for _, id := range []string{"stays", "goes", "waits"} {
		a, err := owner.CreateAgent(t.Context(), agents.Spec{ID: id, Tools: []string{"agentauth:*"}, Caps: caps.Declare(caps.Of(caps.MustCapability("agentauth/"+host, "agentauth")))})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range a.ChatIn(t.Context(), "", `call agentauth_register {"server":"`+h.URL+`","mode":"autonomous"}`) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if status := standing(id); status != visitors.Active {
			t.Fatalf("%s is %s there", id, status)
		}
	}
	end := func(operation, id string) {
		t.Helper()
		if _, err := owner.Invoke(t.Context(), operation, map[string]string{"agentId": id}); err != nil {
			t.Fatal(err)
		}
	}
	end("agent:suspend", "stays")
	end("agent:delete", "goes")
	home.Leave(t.Context())
	if standing("goes") != visitors.Revoked || standing("stays") != visitors.Active || len(left()) != 1 || left()[0] != "revoked" {
		t.Fatalf("once it has ended: %s and %s, and the ledger says %v", standing("goes"), standing("stays"), left())
	}

	down.Store(true)
	end("agent:delete", "waits")
	next := home.Leave(t.Context())
	if wait := next.Sub(now()); standing("waits") != visitors.Active || wait <= 0 || wait > time.Minute {
		t.Errorf("while nobody answers: %s, to be tried again in %s", standing("waits"), wait)
	}
	down.Store(false)
	home.Leave(t.Context())
	if standing("waits") != visitors.Active {
		t.Error("it is tried again at once")
	}
	ahead.Add(int64(time.Minute))
	home.Leave(t.Context())
	if standing("waits") != visitors.Revoked || len(left()) != 2 {
		t.Errorf("once it answers: %s, and the ledger says %v", standing("waits"), left())
	}

	down.Store(true)
	end("agent:delete", "stays")
	for n := 0; len(left()) == 2; n++ {
		if n > 100 {
			t.Fatal("it is tried without an end")
		}
		home.Leave(t.Context())
		ahead.Add(int64(6 * time.Hour))
	}
	if list := left(); list[2] != "failed" {
		t.Errorf("the ledger says %v", list)
	}
	if n, err := home.KeysBelow(t.Context(), "abroad/"); err != nil || n != 0 {
		t.Errorf("%d records are kept of agents that have ended, %v", n, err)
	}
}

// Several that have ended leave at once, and never more than four.
func TestAgentsThatEndLeaveAtOnce(t *testing.T) {
	open := func(yaml string) *venue.Venue {
		cfg, err := config.Parse("usher.yaml", []byte(yaml))
		if err != nil {
			t.Fatal(err)
		}
		v, err := venue.Open(t.Context(), &venue.Options{Config: cfg, Idle: true, Models: map[string]runtime.Model{"default": offline.Model{}}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := v.Close(); err != nil {
				t.Error(err)
			}
		})
		return v
	}
	there := open(shopConfig + "  autonomous: {owner: owner, capabilities: [read_note]}\n")
	port, err := server.New(there, nil)
	if err != nil {
		t.Fatal(err)
	}
	const all, atOnce = 6, 4
	var mu sync.Mutex
	asked, most := 0, 0
	full := make(chan struct{})
	counts := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		if asked += n; asked == atOnce && most < atOnce {
			close(full)
		}
		most = max(most, asked)
	}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/agent/revoke" {
			counts(1)
			defer counts(-1)
			select {
			case <-full:
			case <-r.Context().Done(): // the server took too long
				return
			}
		}
		port.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	host := strings.TrimPrefix(h.URL, "http://")
	home := open("name: Home\nagentauth: {private_servers: ['" + host + "']}\n")
	owner, err := home.User(t.Context(), "owner")
	if err != nil {
		t.Fatal(err)
	}
	for n := range all {
		id := fmt.Sprint("a", n)
		a, err := owner.CreateAgent(t.Context(), agents.Spec{ID: id, Tools: []string{"agentauth:*"}, Caps: caps.Declare(caps.Of(caps.MustCapability("agentauth/"+host, "agentauth")))})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range a.ChatIn(t.Context(), "", `call agentauth_register {"server":"`+h.URL+`","mode":"autonomous"}`) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := owner.Invoke(t.Context(), "agent:delete", map[string]string{"agentId": id}); err != nil {
			t.Fatal(err)
		}
	}
	home.Leave(t.Context())
	if n, err := home.KeysBelow(t.Context(), "abroad/"); err != nil || n != 0 || most != atOnce {
		t.Errorf("%d records are left, %v, and %d were asked at once; want none, and %d", n, err, most, atOnce)
	}
}
