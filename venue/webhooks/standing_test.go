package webhooks_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"usher/ucan"
	"usher/venue/config"
	"usher/venue/store/memory"
	"usher/venue/webhooks"
)

// What waits is told with the reason, and nothing of an entry that is secret.
func TestStanding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.Open()
		ops := hook("ops", "https://user:password@ops.example/hidden?token=hidden")
		ops.Events, ops.Agents = []string{config.RunCompleted}, []string{"bob"}
		d := open(st, &wire{answer: always(500)}, hook("all", "https://all.example/"), ops)
		stop := d.works(t)
		d.ends(t, done)
		synctest.Wait()
		stop()
		d.Set(owner, []config.HookOut{ops, hook("idle", "https://idle.example/")})
		got, err := d.List(t.Context())
		if err != nil || len(got) != 2 {
			t.Fatalf("%+v, %v", got, err)
		}
		if next := time.UnixMilli(got[1].Next); !next.After(time.Now()) {
			t.Errorf("it is sent again at %s, which has passed", next)
		}
		got[1].Next = 0
		want := []webhooks.Standing{
			{Entry: webhooks.Entry{ID: "idle", Host: "idle.example"}},
			{
				Entry:   webhooks.Entry{ID: "ops", Host: "ops.example", Events: ops.Events, Agents: ops.Agents},
				Waiting: 1, Tries: 1, Failed: "ops.example: it answers 500",
			},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("it stands otherwise (-want +got):\n%s", diff)
		}
	})
}

// An entry whose secret is missing, or is none of a webhook, says so.
func TestStandingOfSecrets(t *testing.T) {
	secrets := func(_ context.Context, _ ucan.DID, name string) (string, error) {
		switch name {
		case "GOOD":
			return secret, nil
		case "SHORT":
			return "whsec_aGlkZGVu", nil
		}
		return "", errors.New("there is no secret " + name)
	}
	in := webhooks.NewInbox(webhooks.InboxOptions{Secret: secrets, Logger: slog.New(slog.DiscardHandler)})
	in.Set(owner, []config.HookIn{
		{ID: "c", Secret: "secret:SHORT", Op: "o/x"}, {ID: "a", Secret: "secret:GOOD", Agent: "bob"}, {ID: "b", Secret: "secret:NONE", Agent: "bob"},
	})
	list := in.List(t.Context())
	for i, want := range []webhooks.Entry{
		{ID: "a", Agent: "bob"}, {ID: "b", Agent: "bob", Error: "there is no secret NONE"}, {ID: "c", Op: "o/x", Error: "whsec_"},
	} {
		got := list[i]
		if (want.Error == "") != (got.Error == "") || !strings.Contains(got.Error, want.Error) || strings.Contains(got.Error, "aGlkZGVu") {
			t.Errorf("%s says %q, want %q", want.ID, got.Error, want.Error)
		}
		if got.Error = want.Error; !cmp.Equal(got, want) {
			t.Errorf("it is %+v, want %+v", got, want)
		}
	}
}
