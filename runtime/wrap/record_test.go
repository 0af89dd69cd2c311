package wrap_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"usher/caps"
	"usher/runtime"
	"usher/runtime/wrap"
	"usher/tools"
	"usher/tools/fault"
	"usher/tools/toolstest"
	"usher/ucan"
)

// run is one turn of a real agent with one tool, as its consumer sees it.
func run(t *testing.T, m runtime.Model, prompt string) (events []string, err error) {
	t.Helper()
	return runOn(t, m, prompt, time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
}

func runOn(t *testing.T, m runtime.Model, prompt string, day time.Time) (events []string, err error) {
	t.Helper()
	type input struct {
		Key string `json:"key"`
	}
	read := tools.New("map:read", "Read a key.",
		func(in input) []caps.Request { return []caps.Request{caps.Need("crud/read", in.Key)} },
		func(_ context.Context, _ tools.Call, in input) (string, error) { return "value of " + in.Key, nil },
		tools.ReadOnly(), tools.Within(caps.ScopeUnder("crud/read", "", 0, 0)))
	registry := new(tools.Registry)
	if err := registry.Register(read); err != nil {
		t.Fatal(err)
	}
	gate, mint := toolstest.NewGate(registry, nil)
	key, err := ucan.KeyFromSeed([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	agent := &runtime.Agent{
		ID: "bob", Model: m, Prompt: prompt, Tools: []*tools.Operation{read},
		Authority: mint.Agent(key.DID(), "bob", func() caps.Set { return caps.Of(caps.MustCapability("w/", "crud/read")) }),
	}
	r := runtime.New(gate, &runtime.Options{Now: func() time.Time { return day }})
	for ev, turnErr := range r.Turn(t.Context(), agent, runtime.NewSession("s", nil), runtime.Say{From: "did:key:zAlice", Text: "read it"}) {
		if turnErr != nil {
			return events, turnErr
		}
		raw, err := runtime.EventJSON(ev)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, string(raw))
	}
	return events, nil
}

// overloaded is known in traces by its status.
type overloaded struct{ outage }

func (overloaded) Code() fault.Code { return fault.Status(529) }

func reading(end act) *script {
	return play(act{chunks: []runtime.Chunk{
		{Reasoning: "Let me look.\nNow."},
		{Call: &runtime.CallDelta{Index: 0, Name: "map_read", Arguments: `{"key":`}},
		{Call: &runtime.CallDelta{Index: 0, Arguments: `"w/a"}`}},
		used(10, 5),
		{Finish: "tool_calls"},
	}}, end)
}

func TestReplayOfARun(t *testing.T) {
	for _, tc := range []struct {
		name string
		end  act
	}{
		{"answered", act{chunks: []runtime.Chunk{{Text: "It "}, {Text: "says\n  \"value\".\n"}, {}, used(20, 9), {Finish: "stop", Model: "v-1"}}}},
		{"failed", act{chunks: []runtime.Chunk{{Text: "It "}}, err: outage{text: "overloaded", temporary: true, after: time.Second}}},
		{"failed with a word for it", act{err: overloaded{outage{text: "overloaded"}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var cassette bytes.Buffer
			want, wantErr := run(t, wrap.Record(reading(tc.end), &cassette, nil), "You are Bob.")
			player, err := wrap.Replay(bytes.NewReader(cassette.Bytes()), nil)
			if err != nil {
				t.Fatalf("%v\n%s", err, cassette.String())
			}
			got, gotErr := run(t, player, "You are Bob.")
			if diff := cmp.Diff(logged(want), logged(got)); diff != "" || message(wantErr) != message(gotErr) {
				t.Errorf("log (-recorded +replayed):\n%s%v, %v", diff, wantErr, gotErr)
			}
			if _, classed := errors.AsType[overloaded](tc.end.err); classed && !strings.Contains(strings.Join(got, "\n"), `"errorCode":"529"`) {
				t.Errorf("no event has the error's class:\n%s", strings.Join(got, "\n"))
			}
		})
	}
}

// logged is what of the events is in the log: an answer is recorded whole, and
// not in the pieces in which it came.
func logged(events []string) []string {
	return slices.DeleteFunc(slices.Clone(events), func(ev string) bool { return strings.Contains(ev[:30], "_delta") })
}

// What was scrubbed from an answer comes back in the next request, which has
// to be known all the same.
func TestReplayOfARunWithASecret(t *testing.T) {
	model := play(act{chunks: []runtime.Chunk{
		{Text: "The key is sk-pro"},
		{Text: "j-12345678."},
		{Call: &runtime.CallDelta{Name: "map_read", Arguments: `{"key":"w/sk-pro`}},
		{Call: &runtime.CallDelta{Arguments: `j-12345678"}`}},
		{Finish: "tool_calls"},
	}}, act{chunks: say("done")})
	var cassette bytes.Buffer
	recorded, err := run(t, wrap.Record(model, &cassette, nil), "You are Bob.")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(cassette.String(), "12345678") {
		t.Errorf("the key is in the cassette:\n%s", cassette.String())
	}
	player, err := wrap.Replay(&cassette, nil)
	if err != nil {
		t.Fatal(err)
	}
	replayed, err := run(t, player, "You are Bob.")
	if err != nil {
		t.Fatal(err)
	}
	if len(logged(recorded)) != len(logged(replayed)) || !strings.Contains(strings.Join(replayed, "\n"), "The key is [redacted]") {
		t.Errorf("replayed %s", strings.Join(replayed, "\n"))
	}
}

func TestReplayRefusesAChangedPrompt(t *testing.T) {
	var cassette bytes.Buffer
	end := act{chunks: say("done")}
	if _, err := run(t, wrap.Record(reading(end), &cassette, nil), "You are Bob."); err != nil {
		t.Fatal(err)
	}
	player, err := wrap.Replay(&cassette, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = run(t, player, "You are Rob.")
	if fault.Of(err) != fault.NotRecorded || !strings.Contains(err.Error(), "next is entry 1") {
		t.Fatalf("got %v, want a refusal near entry 1", err)
	}
	for _, line := range []string{"--- recorded (entry 1)\n", "+++ asked\n", "\n-  \"system\": \"You are Bob.\n", "\n+  \"system\": \"You are Rob.\n"} {
		if !strings.Contains(err.Error(), line) {
			t.Errorf("the error does not have the line %q:\n%v", line, err)
		}
	}
	if _, err := run(t, player, "You are Bob."); err != nil {
		t.Errorf("a refused request used an answer up: %v", err)
	}
}

func TestReplayInOrder(t *testing.T) {
	var cassette bytes.Buffer
	m := wrap.Record(play(act{chunks: say("one")}, act{chunks: say("other")}, act{err: outage{text: "busy", temporary: true, after: 2 * time.Second}}), &cassette, nil)
	ask(t.Context(), m, "x")
	ask(t.Context(), m, "y")
	ask(t.Context(), m, "x")
	player, err := wrap.Replay(&cassette, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := ask(t.Context(), player, "x"); got.text != "one" {
		t.Errorf("first x: %q, %v", got.text, got.err)
	}
	got := ask(t.Context(), player, "x")
	replayed, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](got.err)
	if !ok || replayed.Error() != "busy" || !replayed.Temporary() {
		t.Errorf("second x: %v", got.err)
	}
	if got := ask(t.Context(), player, "x"); !strings.Contains(message(got.err), "answers this request 2 times (first in entry 1)") {
		t.Errorf("third x: %v", got.err)
	}
	if got := ask(t.Context(), player, "y"); got.text != "other" {
		t.Errorf("y: %q, %v", got.text, got.err)
	}
}

func TestNoSecretReachesACassette(t *testing.T) {
	const key = "hunter2/\"<é"
	secrets := []string{
		"sk-proj-abc_DEF-123456", "Bearer abc.def-ghi", "ghp_0123456789abcdefghijABCDEFGHIJ", "AKIAABCDEFGHIJKLMNOP",
		"eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl", "Authorization: Basic dXNlcjpwYXNz", `{"authorization":"Digest abc, def"}`,
		`{\"Authorization\": \"token zzz\"}`, "OPENAI_API_KEY=abcdef", "x-api-key: abcdef", "https://alice:swordfish@example.com/",
		"-----BEGIN PRIVATE KEY-----\nMC4CAQ\n-----END PRIVATE KEY-----", key,
	}
	leaks := []string{
		"abc_DEF", "abc.def", "0123456789abcdef", "ABCDEFGHIJKLMNOP", "c2lnbmF0", "eyJhbGci", "dXNlcjpw", "Digest", "zzz", "abcdef", "swordfish", "MC4CAQ", "hunter2",
	}
	for _, secret := range secrets {
		half := len(secret) / 2
		call := func(s string) *runtime.CallDelta { return &runtime.CallDelta{Index: 1, Arguments: s} }
		asJSON, err := json.Marshal(map[string]string{"v": secret})
		if err != nil {
			t.Fatal(err)
		}
		inner := play(act{
			chunks: []runtime.Chunk{
				{Text: secret[:half], Reasoning: "a " + secret[:half], Call: call(secret[:half])},
				{Usage: &runtime.Usage{}}, // stands between the halves
				{Text: secret[half:] + " b", Reasoning: secret[half:], Call: call(secret[half:])},
				{Finish: secret, Model: secret, Call: &runtime.CallDelta{Index: 2, ID: secret, Name: secret}},
			},
			err: leaking{"provider said: " + secret},
		})
		var cassette bytes.Buffer
		known := func(context.Context) []string { return []string{key} }
		got := send(t.Context(), wrap.Record(inner, &cassette, known), &runtime.Request{
			System: "use " + secret,
			Messages: []runtime.Message{
				{Role: "assistant", Text: secret, Reasoning: secret, Calls: []runtime.ToolCall{{ID: secret, Name: secret, Arguments: string(asJSON)}}},
				{Role: "tool", CallID: secret, Name: secret, Text: string(asJSON)},
			},
			Tools: []runtime.Tool{{Name: secret, Description: secret, Input: asJSON}}, Output: asJSON,
		})
		if got.text != secret+" b" {
			t.Errorf("the consumer itself got %q, want %q", got.text, secret+" b")
		}
		for _, leak := range leaks {
			if strings.Contains(secret, leak) && strings.Contains(cassette.String(), leak) {
				t.Errorf("%q is in the cassette of %q:\n%s", leak, secret, cassette.String())
			}
		}
		if _, err := wrap.Replay(&cassette, known); err != nil {
			t.Error(err)
		}
	}
}

// leaking is an error with a code, the details of which say what it says.
type leaking struct {
	Said string `json:"said"`
}

func (e leaking) Error() string  { return e.Said }
func (leaking) Code() fault.Code { return fault.Refused }
func (e leaking) Details() any   { return e }

// slowFile takes a while to write, and must be written by one at a time.
type slowFile struct {
	mu      sync.Mutex
	writing bool
	clash   bool
}

func (f *slowFile) Write(p []byte) (int, error) {
	f.mu.Lock()
	f.clash = f.clash || f.writing
	f.writing = true
	f.mu.Unlock()
	for range 20 {
		goruntime.Gosched() // lets the others try meanwhile
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writing = false
	return len(p), nil
}

func TestEntriesOfACassetteAreWrittenOneByOne(t *testing.T) {
	file := new(slowFile)
	m := wrap.Record(play(act{chunks: say("a")}), file, nil)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { ask(t.Context(), m, "x") })
	}
	wg.Wait()
	if file.clash {
		t.Error("two entries are written at once")
	}
}

// Whatever its consumer did not get whole is not in the cassette.
func TestAnAnswerThatWasLeftIsNotRecorded(t *testing.T) {
	var cassette bytes.Buffer
	for range wrap.Record(play(act{chunks: say("hello")}), &cassette, nil).Generate(t.Context(), &runtime.Request{}) {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for c := range wrap.Record(play(act{chunks: []runtime.Chunk{{Text: "a"}}, hang: true}), &cassette, nil).Generate(ctx, &runtime.Request{}) {
		if c.Text != "" {
			cancel()
		}
	}
	if cassette.Len() > 0 {
		t.Errorf("the cassette has\n%s", cassette.String())
	}
}

// A replay that is stopped says so.
func TestAReplayIsStopped(t *testing.T) {
	var cassette bytes.Buffer
	ask(t.Context(), wrap.Record(play(act{chunks: say("a")}), &cassette, nil), "x")
	player, err := wrap.Replay(&cassette, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := ask(ctx, player, "x"); !errors.Is(got.err, context.Canceled) || got.text != "" {
		t.Errorf("got %q, %v", got.text, got.err)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestRecordSaysWhatItCannotWrite(t *testing.T) {
	for _, tc := range []struct {
		act  act
		want string
	}{
		{act{chunks: say("a")}, "write cassette: disk full"},
		{act{err: errPlain}, "no such model\nwrite cassette: disk full"},
	} {
		if got := ask(t.Context(), wrap.Record(play(tc.act), fullDisk{}, nil), "x"); message(got.err) != tc.want {
			t.Errorf("got %v, want %s", got.err, tc.want)
		}
	}
}

func TestReplayReadsStrictly(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{`{"reqest":{}}` + "\n", "line 1"},
		{`{"request":{}}` + "\n" + `{"request":{},"chunks":3}` + "\n", "line 2"},
		{`{"request":`, "line 1"},
		{"---\nrequest: {}\n", "line 1"},
	} {
		if _, err := wrap.Replay(strings.NewReader(tc.text), nil); !strings.Contains(message(err), tc.want) {
			t.Errorf("Replay(%q): %v, want %q", tc.text, err, tc.want)
		}
	}
	player, err := wrap.Replay(strings.NewReader(""), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := ask(t.Context(), player, "x"); message(got.err) != "replay: the cassette is empty: record it again" {
		t.Errorf("got %v", got.err)
	}
}

// FuzzReplay reads whatever there is in a file without a panic.
func FuzzReplay(f *testing.F) {
	f.Add(`{"request":{"system":"a"},"chunks":[{"text":"b","usage":{"input":1}}],"error":{"message":"c"}}`)
	f.Add(`{"request":3,"error":{}}`)
	f.Fuzz(func(t *testing.T, text string) {
		player, err := wrap.Replay(strings.NewReader(text), nil)
		if err == nil {
			ask(t.Context(), player, "x")
		}
	})
}
