package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// sizes are the sizes of the checkpoints in a store.
func sizes(t testing.TB, l *Ledger) (all []uint64) {
	t.Helper()
	signed, err := l.checkpoints(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range signed {
		all = append(all, c.Size)
	}
	return all
}

// A checkpoint comes a minute after the first row that has none, and not
// without one.
func TestCheckpointEveryMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := fresh(t)
		at := func(wait time.Duration, want ...uint64) {
			t.Helper()
			time.Sleep(wait)
			synctest.Wait()
			if got := sizes(t, l); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("checkpoints of %d rows, want %d", got, want)
			}
		}
		at(time.Hour)
		call(t, l, 1)
		at(50 * time.Second)
		call(t, l, 2)
		at(9 * time.Second)
		at(time.Second, 4)
		at(time.Hour, 4)
		call(t, l, 3)
		at(time.Minute, 4, 6)
		call(t, l, 4)
		if _, err := l.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
		at(0, 4, 6, 8)
		call(t, l, 5)
		at(time.Minute, 4, 6, 8, 10)
	})
}

// Rows that the last process left without a checkpoint get theirs.
func TestCheckpointAfterOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, store := fresh(t)
		call(t, l, 1)
		again := open(t, store.copied(t))
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := sizes(t, again); fmt.Sprint(got) != "[2]" {
			t.Errorf("checkpoints of %d rows, want [2]", got)
		}
	})
}

// A checkpoint comes with every thousandth row, however the rows are grouped,
// and with the last.
func TestCheckpointEveryThousandRows(t *testing.T) {
	l, store := fresh(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 200 {
				call(t, l, i)
			}
		})
	}
	wg.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := sizes(t, l); fmt.Sprint(got) != "[1000 2000 3000 3200]" {
		t.Errorf("checkpoints of %d rows", got)
	}
	verify(t, open(t, store))
}

// A group of rows ends where a checkpoint is due.
func TestGroupsEndAtCheckpoints(t *testing.T) { synctest.Test(t, testGroupsEndAtCheckpoints) }

func testGroupsEndAtCheckpoints(t *testing.T) {
	l, store := fresh(t)
	release := make(chan struct{})
	var first sync.Once
	store.hook(func(map[string][]byte) error { first.Do(func() { <-release }); return nil }, nil)
	var wg sync.WaitGroup
	const rows = 1100
	for i := range rows {
		wg.Go(func() {
			if _, err := l.RecordDecision(t.Context(), entry(i), Batch{}); err != nil {
				t.Error(err)
			}
		})
	}
	synctest.Wait()
	close(release)
	wg.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := sizes(t, l); fmt.Sprint(got) != "[1000 1100]" {
		t.Errorf("checkpoints of %d rows, want [1000 1100]", got)
	}
}

// What fails is tried again, and holds up no row.
func TestCheckpointIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, store := fresh(t)
		call(t, l, 1)
		full := errors.New("disk full")
		store.hook(func(map[string][]byte) error { return full }, nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := sizes(t, l); got != nil {
			t.Fatalf("checkpoints of %d rows in a full store", got)
		}
		store.hook(nil, nil)
		call(t, l, 2)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := sizes(t, l); fmt.Sprint(got) != "[4]" {
			t.Errorf("checkpoints of %d rows, want [4]", got)
		}
	})
}

// A checkpoint is a signed note that x/mod opens with the venue's key alone.
func TestCheckpointIsASignedNote(t *testing.T) {
	l, _ := fresh(t)
	call(t, l, 1)
	c, err := l.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	did := venueKey(t, 1).DID()
	vkey, err := note.NewEd25519VerifierKey(did.String(), did.PublicKey())
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := note.NewVerifier(vkey)
	if err != nil {
		t.Fatal(err)
	}
	n, err := note.Open([]byte(c.Note), note.VerifierList(verifier))
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%s\n2\n%s\n", did, c.Root); n.Text != want {
		t.Errorf("the note says %q, want %q", n.Text, want)
	}
}

// What the venue's key signed and is no checkpoint is not taken for one.
func TestOtherNotesAreRefused(t *testing.T) {
	l, _ := fresh(t)
	origin := l.venue.String()
	root := emptyRoot.String()
	for name, text := range map[string]string{
		"another origin":   "example.org\n0\n" + root + "\n",
		"an extension":     origin + "\n0\n" + root + "\nmore\n",
		"a leading zero":   origin + "\n00\n" + root + "\n",
		"a negative size":  origin + "\n-1\n" + root + "\n",
		"too large a size": origin + "\n1152921504606846977\n" + root + "\n",
		"a short root":     origin + "\n0\nAAAA\n",
		"nothing":          origin + "\n",
	} {
		signed, err := note.Sign(&note.Note{Text: text}, l.signer)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := l.open(string(signed)); !errors.Is(err, ErrBroken) {
			t.Errorf("%s: open = %+v, %v; want ErrBroken", name, c, err)
		}
	}
}

// Checkpoints go to files and URLs outside the store; a place that does not
// answer holds up no call.
func TestCheckpointsGoOutside(t *testing.T) {
	var got []string
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-release
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%s with %q: %v", r.Method, r.Header, err)
		}
		got = append(got, string(body))
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "checkpoints")
	l, _ := fresh(t, file, server.URL+"/log")
	var want []string
	for i := range 3 {
		call(t, l, i)
		c, err := l.Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, c.Note)
	}
	close(release)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the server got %q, want %q", got, want)
	}
	if text := readFile(t, file); text != strings.Join(want, "") {
		t.Errorf("the file has %q, want %q", text, want)
	}
	if all := kept(t, l, file); fmt.Sprint(all) != fmt.Sprint(want) {
		t.Errorf("kept = %q, want %q", all, want)
	}
}

// kept are the checkpoints in a file, the oldest first.
func kept(t *testing.T, l *Ledger, file string) (all []string) {
	t.Helper()
	for c, err := range l.checkpointsIn(file, 1<<20) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c.Note)
	}
	slices.Reverse(all)
	return all
}

// A torn line at the end of a file costs that checkpoint and no other.
func TestTornCheckpointIsPassedOver(t *testing.T) {
	file := filepath.Join(t.TempDir(), "checkpoints")
	l, store := fresh(t, file)
	call(t, l, 1)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	text := readFile(t, file)
	if err := os.WriteFile(file, []byte(text+text[:len(text)-20]), 0o600); err != nil {
		t.Fatal(err)
	}
	again := open(t, store, file)
	call(t, again, 2)
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	if got := kept(t, again, file); len(got) != 2 || got[0] != text {
		t.Errorf("the file has the checkpoints %q", got)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A delivery that fails is tried again until it succeeds; one that never does
// is given up when the ledger closes, and named by its host alone.
func TestDeliveryIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries, answer atomic.Int64
		answer.Store(http.StatusServiceUnavailable)
		l, _ := fresh(t, "https://user:secret@log.example/secret?key=secret")
		l.couriers[0].client.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			if tries.Add(1) == 1 {
				return nil, errors.New("no route")
			}
			status := int(answer.Load())
			return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: http.NoBody, Request: r}, nil
		})
		call(t, l, 1)
		time.Sleep(time.Minute + 10*time.Second)
		synctest.Wait()
		if tries.Load() < 3 {
			t.Errorf("%d tries within 10 s", tries.Load())
		}
		answer.Store(http.StatusAccepted)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		done := tries.Load()
		time.Sleep(time.Hour)
		synctest.Wait()
		if tries.Load() != done {
			t.Error("what was delivered is delivered again")
		}
		answer.Store(http.StatusBadRequest)
		call(t, l, 2)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if tries.Load() == done {
			t.Error("the last checkpoint was not tried")
		}
		if place := l.couriers[0].String(); place != "https://log.example" {
			t.Errorf("the log would name %s", place)
		}
	})
}

// A checkpoint is delivered to the place that was named: one that a redirect leads elsewhere is not
// there, whatever answers then.
func TestDeliveryIsNotRedirected(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/add" {
			http.Redirect(w, r, "/login", http.StatusFound)
			return
		}
		asked.Add(1)
	}))
	defer server.Close()
	to, err := parsePlace(server.URL + "/add")
	if err != nil {
		t.Fatal(err)
	}
	c := newCourier(to, slog.New(slog.DiscardHandler))
	if err := c.put(t.Context(), &c.client, "note"); err == nil || !strings.Contains(err.Error(), "302") || asked.Load() != 0 {
		t.Errorf("%v, and %d requests elsewhere", err, asked.Load())
	}
}

func TestPlacesAreChecked(t *testing.T) {
	store := newMemory()
	create(t, store)
	for _, place := range []string{"ftp://example.org/x", "https:///x"} {
		if _, err := Open(context.Background(), store, Options{Key: venueKey(t, 1), Checkpoints: []string{place}}); err == nil {
			t.Errorf("Open takes checkpoints to %q", place)
		}
	}
	file := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(file, []byte("shopping list\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), store, Options{Key: venueKey(t, 1), Checkpoints: []string{file}}); err == nil || !strings.Contains(err.Error(), "name another file") {
		t.Errorf("Open with a file of something else = %v", err)
	}
}
