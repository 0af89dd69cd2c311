package venue_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
	"usher/tools/secrets"
	"usher/venue"
	"usher/venue/venuetest"
)

// keyholder is a provider whose models answer with the key of the moment.
func keyholder(_ context.Context, cfg runtime.ModelConfig) (runtime.Model, error) {
	name, ok := strings.CutPrefix(fmt.Sprint(cfg.Settings["key"]), "secret:")
	if !ok {
		return venuetest.Says("no key"), nil
	}
	return runtime.ModelFunc(func(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
		key, err := cfg.Secret(ctx, name)
		if err != nil {
			return func(yield func(runtime.Chunk, error) bool) { yield(runtime.Chunk{}, err) }
		}
		return venuetest.Says(key).Generate(ctx, req)
	}), nil
}

// say has the agent asked, and returns its answer or why there is none.
func say(t testing.TB, u *venue.User, id string) (string, error) {
	t.Helper()
	return venuetest.Answer(t.Context(), agentOf(t, u, id), "hello")
}

var parse = venuetest.Config

// A model's key is a secret of the configuration's user. The venue opens
// before it is there, and the model follows it while the venue runs.
func TestAModelFollowsItsSecret(t *testing.T) {
	v := open(t, &venue.Options{
		Providers: runtime.Providers{"keyholder": keyholder},
		Config: parse(t, `
user: alice
models:
  default: {provider: keyholder, key: secret:OPENAI}
  plain: {provider: keyholder}
  safe: {provider: keyholder, key: secret:NONE, fallback: plain}
agents:
  - {id: carol, caps: []}
  - {id: dave, model: plain, caps: []}
  - {id: erin, model: safe, caps: []}
`),
	})
	alice := user(t, v, "alice")
	setSecret(t, user(t, v, "owner"), "OPENAI", "another user's")
	_, err := say(t, alice, "carol")
	if err == nil || !strings.Contains(err.Error(), "usher secrets set OPENAI") {
		t.Fatalf("without the secret: %v", err)
	}
	for id, want := range map[string]string{"dave": "no key", "erin": "no key"} {
		if got, err := say(t, alice, id); got != want {
			t.Errorf("%s: %q, %v, want %q", id, got, err, want)
		}
	}
	for _, key := range []string{"first", "second"} {
		setSecret(t, alice, "OPENAI", key)
		if got, err := say(t, alice, "carol"); got != key {
			t.Errorf("with the secret %q: %q, %v", key, got, err)
		}
	}
	invoke(t, alice, "secret:delete", `{"name":"OPENAI"}`)
	if got, err := say(t, alice, "carol"); err == nil {
		t.Errorf("with the secret deleted: %q", got)
	}
}

// What a model lacks is told when the venue opens, with what to do.
func TestTheLogSaysWhatAModelLacks(t *testing.T) {
	var log strings.Builder
	open(t, &venue.Options{
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Config: parse(t, "models: {default: {provider: openai, model: m, key: secret:OPENAI}}\n"),
	})
	for _, want := range []string{"model cannot answer yet", "model=default", "usher secrets set OPENAI"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q: %s", want, log.String())
		}
	}
}

// That a secret is missing hides nothing else that is wrong.
func TestAMissingSecretHidesNoFault(t *testing.T) {
	v, err := venue.Open(t.Context(), &venue.Options{
		Config: parse(t, "models: {default: {provider: openai, model: m, key: secret:OPENAI, temperature: 9}}\n"),
	})
	if err == nil {
		_ = v.Close()
	}
	if _, missing := errors.AsType[*secrets.NoSecretError](err); err == nil || missing || !strings.Contains(err.Error(), "temperature is 9: use 0 to 2") {
		t.Errorf("Open: %v", err)
	}
}

// The key reaches the provider's server, and what the server says of it
// reaches nobody.
func TestAProviderAsksWithTheSecret(t *testing.T) {
	for provider, header := range map[string]string{"openai": "Authorization", "anthropic": "X-Api-Key"} {
		t.Run(provider, func(t *testing.T) {
			var heard []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				heard = append(heard, r.Header.Get(header), r.Header.Get("X-Team"))
				http.Error(w, `{"error":{"message":"`+r.Header.Get(header)+` is not a key"}}`, http.StatusUnauthorized)
			}))
			t.Cleanup(server.Close)
			var log strings.Builder
			dir := t.TempDir()
			v, err := venue.Open(t.Context(), &venue.Options{
				Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
				Config: parse(t, `
models: {default: {provider: `+provider+`, model: m, base_url: "`+server.URL+`", key: secret:KEY, headers: {X-Team: secret:TEAM}}}
agents: [{id: carol, caps: []}]
`),
			})
			if err != nil {
				t.Fatal(err)
			}
			owner := user(t, v, "owner")
			setSecret(t, owner, "KEY", value+"\n")
			setSecret(t, owner, "TEAM", "team-of-"+value)
			_, err = say(t, owner, "carol")
			if err == nil || strings.Contains(err.Error(), value) {
				t.Errorf("the turn ended with %v", err)
			}
			if err := v.Close(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{value, "team-of-" + value}, []string{strings.TrimPrefix(heard[0], "Bearer "), heard[1]}); diff != "" {
				t.Errorf("the server heard (-want +got)\n%s", diff)
			}
			if found := inFiles(t, dir, value); found != nil || strings.Contains(log.String(), value) {
				t.Errorf("the key stands in %v, or in the log:\n%s", found, log.String())
			}
		})
	}
}
