package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"

	"usher/caps"
	"usher/venue"
	"usher/venue/config"
)

var (
	drawnSeed     = flag.Uint64("draw-seed", 1, "seed of the requests that are drawn; 0 is a new one")
	drawnRequests = flag.Int("draw-requests", 0, "how many requests are drawn; 0 is 20000, or 500 with -short")
)

// Whatever is sent, by whomever, is no fault of the venue, and is answered as the document
// says.
func TestDrawnRequests(t *testing.T) {
	seed, n := *drawnSeed, *drawnRequests
	if seed == 0 {
		seed = rand.Uint64()
	}
	if n == 0 {
		if n = 20_000; testing.Short() {
			n = 500
		}
	}
	t.Logf("-draw-seed %d -draw-requests %d", seed, n)
	bounds := caps.Of(caps.MustCapability("w/open", "crud"), caps.MustCapability("g/", "agent/read"), caps.MustCapability("j/", "job/read"), caps.MustCapability("", "invoke"))
	p := serve(t, &venue.Options{Idle: true, Auth: config.Auth{Anonymous: &config.AnonymousCaps{Caps: caps.Declare(bounds)}, Guests: config.Guests{Requests: 1_000_000}}})
	mine := token(t, p.alice, "a")
	create(t, p.alice, `{"agentId":"bob","config":{"tools":["covia:*"],"caps":[{"with":"w/","can":"crud"}]}}`)
	p.call(t, mine, "POST", "/agents/bob/chat", `{"message":"hi"}`)
	_, _, said := p.call(t, mine, "GET", "/openapi.json", "")
	doc, err := libopenapi.NewDocument([]byte(said))
	if err != nil {
		t.Fatal(err)
	}
	valid, faults := validator.NewValidator(doc)
	if err := errors.Join(faults...); err != nil {
		t.Fatal(err)
	}
	if ok, faults := valid.ValidateDocument(); !ok {
		for _, f := range faults {
			t.Errorf("the document: %s: %s", f.Message, f.Reason)
		}
	}
	d := drawing(t, p, seed, []byte(said))
	client := &http.Client{Transport: &http.Transport{}, Timeout: 20 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	statuses, slow := make(map[int]int), 0
	for i := range n {
		op, path, body := d.request()
		req, err := http.NewRequestWithContext(t.Context(), op.method, strings.TrimSuffix(p.url, "/api/v1")+path, strings.NewReader(body))
		if err != nil {
			continue // nobody could send it
		}
		switch d.IntN(10) {
		case 0, 1: // as nobody
		case 2:
			req.Header.Set("Authorization", "Bearer "+pick(d, junk[:8]))
		default:
			req.Header.Set("Authorization", "Bearer "+mine)
		}
		at := fmt.Sprintf("request %d: %s %s %.300s", i, op.method, path, body)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		resp, err := client.Do(req.WithContext(ctx))
		var raw []byte
		if err == nil {
			raw, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
		}
		cancel()
		if errors.Is(err, context.DeadlineExceeded) { // it waits, as it was asked to
			slow++
			continue
		}
		if err != nil {
			if strings.Contains(err.Error(), "invalid header field") {
				continue
			}
			t.Fatalf("%s: %v", at, err)
		}
		statuses[resp.StatusCode]++
		if s := resp.StatusCode; s >= 500 && s != http.StatusGatewayTimeout {
			t.Errorf("%s: %d %.1000s", at, s, raw)
		}
		if resp.StatusCode >= 300 && resp.StatusCode < 400 || op.path == "/api/v1/operations/{reference}" && strings.Contains(path, "%2F") {
			continue // a path that is none of the document's
		}
		resp.Body = io.NopCloser(bytes.NewReader(bytes.ReplaceAll(raw, []byte(vast), []byte("1")))) // the validator knows float64 alone
		if ok, faults := valid.GetResponseBodyValidator().ValidateResponseBody(req, resp); !ok {
			for _, f := range faults {
				if !strings.HasPrefix(f.Message, "POST Path") && f.ValidationType != "path" {
					t.Errorf("%s: %d %.500s: %s: %s %v", at, resp.StatusCode, raw, f.Message, f.Reason, f.SchemaValidationErrors)
				}
			}
		}
		if t.Failed() && i > 50 {
			return
		}
	}
	t.Logf("answered %v, waited for %d", statuses, slow)
	if statuses[200]+statuses[201] < n/10 || statuses[400] < n/50 || statuses[401] < n/50 || statuses[403] < n/100 || slow > n/20 {
		t.Errorf("%v and %d that wait: the draw sees one side only", statuses, slow)
	}
}

// drawing begins to draw from a document.
func drawing(t *testing.T, p *port, seed uint64, document []byte) *draw {
	t.Helper()
	ops, err := readDocument(document)
	if err != nil {
		t.Fatal(err)
	}
	d := &draw{Rand: rand.New(rand.NewPCG(seed, 1)), ops: ops}
	runs, _, err := p.alice.Runs(t.Context(), "", 3)
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{"nobody"}
	for _, r := range runs {
		ids = append(ids, r.ID)
	}
	d.pools = map[string][]string{
		"agentId": {"bob", "kid", "nobody"}, "sourceId": {"bob"}, "id": ids, "name": {"a2", "laptop"}, "handle": {"nightly"}, "path": {"w/a", "w/open/x", "o/p", "w", "s/a"},
		"row": {"1", "2", "3"}, "cid": {"bafyreih5ryzsq6kh5k5fc2qimk2k4v2wcoffi3sctcqd3kpd6ubmh3rrdu"}, "sessionId": {"main"}, "reference": {"covia:read", "grid:run"},
		"wait": {"true", "0.01", "1"}, "timeout": {"1", "10"}, "with": {"w/a", ""}, "can": {"crud", "crud/read"}, "operation": {"covia:read", "covia:list", "json:merge"}, "server": {"127.0.0.1:9"}, // nobody outside is asked
		"audience": {p.alice.DID().String()}, "cron": {"0 3 * * *"}, "X-Usher-Ucans": {""},
	}
	all, err := p.alice.Operations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range all {
		if op.Name() == "token:revoke" || op.Name() == "grid:jobResult" {
			continue // it would end the token of the test, and wait without an end
		}
		var schema map[string]any
		if err := json.Unmarshal(op.InputSchema(), &schema); err != nil {
			t.Fatal(err)
		}
		d.calls = append(d.calls, drawnCall{op.Name(), schema})
	}
	return d
}
