package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"usher/tools/tokens"
	"usher/venue/face"
)

// keyed sends a request under a key, and returns what comes.
func (p *chatPort) keyed(ctx context.Context, t *testing.T, token, key, path, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set(face.OnceHeader, key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func (p *chatPort) whole(t *testing.T, token, key, path, body string) (status int, again bool, said string) {
	t.Helper()
	resp := p.keyed(t.Context(), t, token, key, path, body)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Idempotent-Replayed") == "true", string(raw)
}

// What is said under a key is said once, and answered the same to whoever is the same principal.
func TestIdempotencyKey(t *testing.T) {
	p := serveChat(t)
	mine := p.token(t)
	raw, err := p.alice.Invoke(t.Context(), "token:create", tokens.New{Name: "b"})
	if err != nil {
		t.Fatal(err)
	}
	other := secretOf(t, raw)
	n := 0
	for path, form := range map[string]string{
		"/chat/completions": `{"model":"bob","messages":[{"role":"user","content":"say %d"}],"stream":%v}`,
		"/responses":        `{"model":"bob","input":"say %d","stream":%v}`,
	} {
		for _, stream := range []bool{false, true} {
			n++
			key, body := fmt.Sprint("k", n), fmt.Sprintf(form, n, stream)
			status, again, first := p.whole(t, mine, key, path, body)
			if status != 200 || again || !strings.Contains(first, "say") {
				t.Fatal(path, stream, status, again, first)
			}
			for name, token := range map[string]string{"mine": mine, "another token": other} {
				if status, again, said := p.whole(t, token, key, path, body); status != 200 || !again || said != first {
					t.Errorf("%s, stream %v, by %s again: %d %v %s", path, stream, name, status, again, said)
				}
			}
			if status, _, said := p.whole(t, mine, key, path, fmt.Sprintf(form, n+100, stream)); status != 422 || !strings.Contains(said, `"code":"key_reused"`) {
				t.Errorf("%s, stream %v, with another body: %d %s", path, stream, status, said)
			}
			if heard := p.model.heard(); len(heard) != n {
				t.Errorf("%s, stream %v: the agent heard %q", path, stream, heard)
			}
		}
	}

	// What did nothing is asked anew.
	for range 2 {
		if status, again, said := p.whole(t, mine, "k9", "/chat/completions", `{"model":"nobody","messages":[{"role":"user","content":"hi"}]}`); status != 404 || again {
			t.Errorf("no such model: %d %v %s", status, again, said)
		}
	}
	if status, _, said := p.whole(t, mine, "a b", "/responses", `{}`); status != 400 || !strings.Contains(said, "is no key") {
		t.Errorf("a key that is none: %d %s", status, said)
	}
}

// Who leaves a stream that has a key finds it whole.
func TestIdempotencyKeyOfAStreamThatIsLeft(t *testing.T) {
	p := serveChat(t)
	mine := p.token(t)
	goOn := make(chan struct{})
	p.model.answer(said("one ", "two ", "three")...)
	p.model.pause = goOn
	const body = `{"model":"bob","messages":[{"role":"user","content":"count"}],"stream":true}`
	ctx, leave := context.WithCancel(t.Context())
	resp := p.keyed(ctx, t, mine, "k", "/chat/completions", body)
	if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || !strings.HasPrefix(line, "data: ") {
		t.Fatal(line, err)
	}
	if status, _, said := p.whole(t, mine, "k", "/chat/completions", body); status != 409 || !strings.Contains(said, "under way") {
		t.Errorf("meanwhile: %d %s", status, said)
	}
	leave()
	resp.Body.Close()
	close(goOn)
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for tries := 0; ; tries++ {
		status, again, said := p.whole(t, mine, "k", "/chat/completions", body)
		if status == 409 && tries < 3000 { // it is under way
			<-look.C
			continue
		}
		if status != 200 || !again || !strings.Contains(said, "three") || !strings.HasSuffix(said, "data: [DONE]\n\n") {
			t.Errorf("%d %v %s", status, again, said)
		}
		break
	}
	if heard := p.model.heard(); len(heard) != 1 {
		t.Errorf("the agent heard %q", heard)
	}
}

// A turn that failed is told again as it was, and not had again. One that was stopped is
// unknown, also where a stream told of its beginning.
func TestIdempotencyKeyOfATurnThatFails(t *testing.T) {
	for path, form := range map[string]string{
		"/chat/completions": `{"model":"bob","messages":[{"role":"user","content":"go"}],"stream":%v}`,
		"/responses":        `{"model":"bob","input":"go","stream":%v}`,
	} {
		for stream, status := range map[bool]int{false: 429, true: 200} {
			t.Run(fmt.Sprint(path, stream), func(t *testing.T) {
				p := serveChat(t)
				mine, body := p.token(t), fmt.Sprintf(form, stream)
				p.model.answer(said("Well, ", "limit")...)
				got, again, first := p.whole(t, mine, "k1", path, body)
				if got != status || again || !strings.Contains(first, "slow down") {
					t.Errorf("it fails as %d %v %s", got, again, first)
				}
				if got, again, said := p.whole(t, mine, "k1", path, body); got != status || !again || said != first {
					t.Errorf("again: %d %v %s, want %s", got, again, said, first)
				}
				if heard := p.model.heard(); len(heard) != 1 {
					t.Errorf("the agent heard %q", heard)
				}

				p.model.answer(said("Well, ", "wait")...)
				var asked sync.WaitGroup
				asked.Go(func() { p.whole(t, mine, "k2", path, body) })
				for {
					run := begun(t, p)
					if rec, err := p.alice.Run(t.Context(), run); err != nil || rec.Over() {
						continue
					}
					if err := p.alice.Stop(t.Context(), run); err != nil {
						t.Error(err)
					}
					break
				}
				asked.Wait()
				if got, again, said := p.whole(t, mine, "k2", path, body); got != 422 || again || !strings.Contains(said, "nobody can tell") {
					t.Errorf("of one that was stopped: %d %v %s", got, again, said)
				}
			})
		}
	}
}
