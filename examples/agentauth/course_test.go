package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"usher/caps"
	"usher/tools"
	"usher/tools/agentauth/client"
	"usher/venue"
	"usher/venue/config"
	"usher/venue/server"
)

const configuration = `
name: Shop
agentauth:
  issuer: http://127.0.0.1
  capabilities:
    - {name: price, operation: shop:price, caps: [{with: w/shop, can: crud/read}], public: true}
    - {name: stock, operation: shop:price, caps: [{with: w/shop, can: crud/read}], answer: async}
    - {name: follow, operation: shop:price, caps: [{with: w/shop, can: crud/read}], answer: stream}
    - {name: order, operation: shop:order, caps: [{with: w/shop, can: crud/write}], constraints: {count: {max: 10}}}
  services: [{name: till, secret: secret:TILL}]
`

// order is what shop:order takes.
type order struct {
	Count int `json:"count"`
}

// pipes is a listener whose connections lie within a bubble of time.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, open := <-p; open {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error {
	close(p)
	return nil
}

func (pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// shop opens a venue that lets agents in, and returns who reaches it and a token of alice.
func shop(t *testing.T) (hc *http.Client, alice string) {
	t.Helper()
	cfg, err := config.Parse("usher.yaml", []byte(configuration))
	if err != nil {
		t.Fatal(err)
	}
	v, err := venue.Open(t.Context(), &venue.Options{Config: cfg, Tools: []*tools.Operation{
		tools.New("shop:price", "Read the price.", func(struct{}) []caps.Request { return []caps.Request{caps.Need("crud/read", "w/shop")} },
			func(context.Context, tools.Call, struct{}) (map[string]any, error) {
				return map[string]any{"price": 3}, nil
			}),
		tools.New("shop:order", "Order some.", func(order) []caps.Request { return []caps.Request{caps.Need("crud/write", "w/shop")} },
			func(_ context.Context, _ tools.Call, in order) (map[string]any, error) {
				return map[string]any{"ordered": in.Count}, nil
			}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(v, nil)
	if err != nil {
		t.Fatal(err)
	}
	conns := make(pipes)
	h := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { _ = h.Serve(conns) }() // until the test has ended
	over := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		conns <- there
		return here, nil
	}}
	t.Cleanup(func() {
		over.CloseIdleConnections()
		if err := errors.Join(h.Close(), v.Close()); err != nil {
			t.Error(err)
		}
	})
	owner, err := v.User(t.Context(), "owner")
	if err == nil {
		err = owner.SetSecret(t.Context(), "TILL", "the secret of the till")
	}
	if err != nil {
		t.Fatal(err)
	}
	u, err := v.User(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	if alice, err = v.Session(t.Context(), u, time.Hour); err != nil {
		t.Fatal(err)
	}
	return &http.Client{Transport: over}, alice
}

var approval = regexp.MustCompile(`approve at (http://[^/]+)/\S*agent_id=(\S+?)&\S* with the code (\S+)`)

// screen is what the program prints; it approves as alice what it asks for.
type screen struct {
	t     *testing.T
	hc    *http.Client
	alice string

	mu   sync.Mutex
	text bytes.Buffer
	work sync.WaitGroup
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := approval.FindSubmatch(p); m != nil {
		s.work.Go(func() { s.approve(string(m[1]), string(m[2]), string(m[3])) })
	}
	return s.text.Write(p)
}

func (s *screen) approve(at, agent, code string) {
	raw, err := json.Marshal(map[string]string{"agent_id": agent, "user_code": code, "action": "approve"})
	if err != nil {
		s.t.Error(err)
		return
	}
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, at+"/agent/approve-capability", bytes.NewReader(raw))
	if err != nil {
		s.t.Error(err)
		return
	}
	req.Header.Set("Authorization", "Bearer "+s.alice)
	res, err := s.hc.Do(req)
	if err != nil {
		s.t.Error(err)
		return
	}
	defer res.Body.Close()
	if said, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusOK {
		s.t.Errorf("alice is answered %s %s", res.Status, said)
	}
}

// The whole course at a venue, with a person who approves what is asked.
func TestCourse(t *testing.T) { synctest.Test(t, takesTheCourse) }

func takesTheCourse(t *testing.T) {
	hc, alice := shop(t)
	out := &screen{t: t, hc: hc, alice: alice}
	c := &course{out: out, options: &client.Options{HTTP: hc}, name: "Bot", reason: "to test", credential: "the secret of the till"}
	for _, text := range []string{"price", "stock", "follow"} {
		if err := c.do.Set(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"price", "follow"} {
		if err := c.batch.Set(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{`order={"count":10}`, `order={"count":11}`} {
		if err := c.more.Set(text); err != nil {
			t.Fatal(err)
		}
	}
	err := c.take(t.Context(), "http://127.0.0.1")
	out.work.Wait()
	text := out.text.String()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, want := range []string{
		"found Shop, version 1.0-draft", "offers anybody to see price", ": pending\n", "  price is active\n", `price: {"price":3}`, "stock is pending\n", `stock: {"price":3}`,
		"follow says {", `follow: {"data":{"price":3}}`, `of the batch, price.1 completed: {"price":3}`, "batch_unsupported_result_type",
		`order is active within {"count":{"max":10}}`, `order: {"ordered":10}`, "order is refused: the server answers 403 constraint_violated",
		"both have new keys, and the agent is active", "a service is told that the token is active: true", "the agent is revoked\n", "it may do nothing any more: the server answers 403 agent_revoked",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not print %q", want)
		}
	}
	if n := strings.Count(text, "\nprice: "); n != 1 {
		t.Errorf("it executes price %d times beside the batch, want once", n)
	}
	if t.Failed() {
		t.Log(text)
	}
}

// The client knows of a server what the wire says: nothing of the venue is linked in.
func TestTheClientIsApart(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dep := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(dep, "usher/") && dep != "usher/examples/agentauth" && dep != "usher/tools/agentauth/client" {
			t.Errorf("it links %s in", dep)
		}
	}
}
