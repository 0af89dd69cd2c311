package rest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"usher/venue/rest"
)

// read reads an answer.
func read[T any](t *testing.T, status int, said string) (out T) {
	t.Helper()
	if err := json.Unmarshal([]byte(said), &out); err != nil || status != 200 {
		t.Fatalf("%d %s: %v", status, said, err)
	}
	return out
}

// Sessions, and what happened in one, come in pages that join without a gap.
func TestSessionsComeInPages(t *testing.T) {
	p := serve(t, nil)
	mine := token(t, p.alice, "a")
	create(t, p.alice, `{"agentId":"bob","config":{"caps":[]}}`)
	bob, err := p.alice.Agent(t.Context(), "bob")
	if err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		for _, err := range bob.ChatIn(t.Context(), fmt.Sprint("s", n%3), "hi") {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	type sessions struct {
		Sessions []struct {
			SessionID string
			Turns     int
		}
		Cursor string
	}
	var got []string
	for cursor := ""; ; {
		status, _, said := p.call(t, mine, "GET", "/agents/bob/sessions?limit=2&cursor="+cursor, "")
		page := read[sessions](t, status, said)
		for _, s := range page.Sessions {
			got = append(got, fmt.Sprint(s.SessionID, s.Turns))
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	if want := "s21 s12 s02"; strings.Join(got, " ") != want {
		t.Errorf("the sessions are %v, want %v", got, want)
	}
	type entries struct {
		Entries []struct {
			Seq  int
			Type string
		}
		Cursor string
	}
	next, turns := 1, 0
	for cursor := ""; ; {
		status, _, said := p.call(t, mine, "GET", "/agents/bob/sessions/s0?limit=2&cursor="+cursor, "")
		page := read[entries](t, status, said)
		for _, e := range page.Entries {
			if e.Seq != next {
				t.Fatalf("event %d follows %d", e.Seq, next-1)
			}
			if next++; e.Type == "turn_started" {
				turns++
			}
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	if turns != 2 {
		t.Errorf("session s0 has %d turns, want 2", turns)
	}
}

// The ledger is read page by page, with outcomes, and by everybody for themselves.
func TestLedgerIsReadByItsOwner(t *testing.T) {
	p := serve(t, nil)
	other, err := p.venue.User(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	mine, others := token(t, p.alice, "a"), token(t, other, "b")
	for n := range 5 {
		p.call(t, mine, "PUT", fmt.Sprintf("/values?path=w/mine%d", n), `{"value":1}`)
		p.call(t, others, "PUT", fmt.Sprintf("/values?path=w/other%d", n), `{"value":1}`)
	}
	p.call(t, others, "GET", "/values?path="+p.alice.DID().String()+"/w/mine0", "")
	type row struct {
		Seq                       uint64
		Owner, Operation, Verdict string
		Outcome                   string
	}
	type page struct {
		Rows   []row
		Cursor string
	}
	last := ^uint64(0)
	writes := 0
	var number uint64
	for cursor := ""; ; {
		status, _, said := p.call(t, mine, "GET", "/ledger?limit=2&cursor="+cursor, "")
		got := read[page](t, status, said)
		for _, r := range got.Rows {
			if r.Owner != p.alice.DID().String() || r.Seq >= last {
				t.Errorf("row %d is listed after %d, and is of %s", r.Seq, last, r.Owner)
			}
			if last = r.Seq; r.Operation == "v/ops/covia/write" {
				if writes++; r.Outcome != "ok" || r.Verdict != "allow" {
					t.Errorf("a write is %+v", r)
				}
				number = r.Seq
			}
		}
		if cursor = got.Cursor; cursor == "" {
			break
		}
	}
	if writes != 5 {
		t.Errorf("%d writes are listed, want 5", writes)
	}
	status, _, said := p.call(t, others, "GET", "/ledger?denied=true", "")
	if denied := read[page](t, status, said); len(denied.Rows) != 1 || denied.Rows[0].Verdict != "deny" {
		t.Errorf("denied are %+v, want the one", denied.Rows)
	}
	prove := fmt.Sprintf("/ledger/%d/proof", number)
	status, _, said = p.call(t, mine, "GET", prove, "")
	proof := read[struct {
		Row, Text, Checkpoint string
		Index                 uint64
	}](t, status, said)
	if proof.Index != number-1 || !strings.Contains(proof.Row, "w/mine0") || !strings.HasPrefix(proof.Text, "c2sp.org/tlog-proof@v1\n") || !strings.HasPrefix(proof.Checkpoint, p.venue.DID().String()) {
		t.Errorf("the proof is %s", said)
	}
	if status, _, said := p.call(t, others, "GET", prove, ""); status != 404 || !strings.Contains(said, "no row") || strings.Contains(said, "mine") {
		t.Errorf("another is told %d %s", status, said)
	}
	status, _, said = p.call(t, mine, "GET", "/ledger/checkpoint", "")
	if c := read[struct {
		Size int
		Note string
	}](t, status, said); c.Size < 20 || !strings.HasPrefix(c.Note, p.venue.DID().String()) {
		t.Errorf("the checkpoint is %s", said)
	}
}

// Revocations are followed from a cursor on.
func TestRevocationsAreFollowed(t *testing.T) {
	p := serve(t, nil)
	mine := token(t, p.alice, "a")
	issue := func() string {
		t.Helper()
		raw, err := p.alice.Invoke(t.Context(), "ucan:delegate", json.RawMessage(`{"audience":"did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK","capabilities":[{"with":"w/a","can":"crud"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		return read[struct{ Tokens []struct{ CID string } }](t, 200, string(raw)).Tokens[0].CID
	}
	type feed struct {
		Revocations []string
		Cursor      string
		More        bool
	}
	cursor := ""
	for n := range 3 {
		cid := issue()
		if status, _, said := p.call(t, mine, "POST", "/delegations/revoke", `{"cid":"`+cid+`"}`); status != 200 {
			t.Fatal(status, said)
		}
		status, _, said := p.call(t, mine, "GET", "/revocations?after="+cursor, "")
		got := read[feed](t, status, said)
		if len(got.Revocations) != 1 || got.More {
			t.Fatalf("after revocation %d the feed has %+v, want that one", n, got)
		}
		cursor = got.Cursor

		// Another venue believes it by its signature.
		elsewhere := serve(t, nil)
		status, _, said = elsewhere.call(t, token(t, elsewhere.alice, "a"), "POST", "/delegations/import", `{"tokens":["`+got.Revocations[0]+`"]}`)
		if status != 200 || !strings.Contains(said, `"revoked":["`+cid+`"]`) {
			t.Errorf("another venue says %d %s", status, said)
		}
	}
	status, _, said := p.call(t, mine, "GET", "/revocations?limit=2", "")
	if got := read[feed](t, status, said); len(got.Revocations) != 2 || !got.More {
		t.Errorf("the first page is %+v", got)
	}
}

// A message to a job is heard by the agent whose turn it is; one that has ended hears none.
func TestMessageToAJob(t *testing.T) {
	p := serve(t, nil)
	mine := token(t, p.alice, "a")
	create(t, p.alice, `{"agentId":"bob","config":{"caps":[]}}`)
	p.call(t, mine, "POST", "/agents/bob/chat", `{"message":"hi"}`)
	status, _, said := p.call(t, mine, "GET", "/jobs", "")
	jobs := read[struct{ Jobs []struct{ ID string } }](t, status, said)
	if status, _, said := p.call(t, mine, "POST", "/jobs/"+jobs.Jobs[0].ID, `{"message":"more"}`); status != 409 || !strings.Contains(said, "it has ended") {
		t.Errorf("of a job that has ended: %d %s", status, said)
	}
	asked, goOn := make(chan struct{}), make(chan struct{})
	p.model.Ask("covia_read", `{"path":"w/a"}`)
	p.model.Between(func() { close(asked); <-goOn })
	_, head, _ := p.call(t, mine, "POST", "/invoke", `{"operation":"agent:request","input":{"agentId":"bob","input":"go"}}`)
	<-asked
	status, _, said = p.call(t, mine, "GET", "/jobs", "")
	jobs = read[struct{ Jobs []struct{ ID string } }](t, status, said)
	if status, _, said := p.call(t, mine, "POST", "/jobs/"+jobs.Jobs[0].ID, `{"message":"more"}`); status != 202 || !strings.Contains(said, `"delivered":true`) {
		t.Errorf("of a task that runs: %d %s", status, said)
	}
	if status, _, said := p.call(t, mine, "POST", strings.TrimPrefix(head.Get("Location"), rest.Prefix), `{"message":"more"}`); status != 409 || !strings.Contains(said, "no agent's") {
		t.Errorf("of a job that is no agent's: %d %s", status, said)
	}
	close(goOn)
	if status, _, said := p.call(t, mine, "GET", strings.TrimPrefix(head.Get("Location"), rest.Prefix)+"/result", ""); status != 200 {
		t.Error(status, said)
	}
}

// The page loads nothing, and shows each route.
func TestDocsPage(t *testing.T) {
	p := serve(t, nil)
	status, head, said := p.call(t, "", "GET", "/docs", "")
	if status != 200 || !strings.Contains(head.Get("Content-Security-Policy"), "default-src 'none'") || strings.Contains(said, "<script") || strings.Contains(said, "src=") {
		t.Fatalf("%d %v", status, head)
	}
	for _, rt := range rest.Routes() {
		if !strings.Contains(said, "<b>"+rt.Method+"</b> <code>"+rest.Prefix+strings.ReplaceAll(rt.Path, "...", "")+"</code>") {
			t.Errorf("%s %s is not shown", rt.Method, rt.Path)
		}
	}
}
