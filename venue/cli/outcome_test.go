package cli_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
	"usher/venue"
	"usher/venue/cli"
	"usher/venue/venuetest"
)

// A run says which of its calls have an unknown effect and which were never started; a
// person says which it was, once, and sees it wherever the run is shown.
func TestTheOutcomeOfACall(t *testing.T) {
	file := project(t, "user: me\nstore: data\nmodels: {default: {provider: offline}}\nagents: [{id: clerk, caps: []}]\n")
	began := make(chan struct{})
	hang := tools.New("till:pay", "Pay.", func(struct{}) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} },
		func(ctx context.Context, _ tools.Call, _ struct{}) (string, error) {
			close(began)
			<-ctx.Done()
			return "", context.Cause(ctx)
		})
	m := new(venuetest.Model)
	v := venuetest.Open(t, &venue.Options{Dir: filepath.Join(filepath.Dir(file), "data"), Models: map[string]runtime.Model{"default": m}, Tools: []*tools.Operation{hang}})
	me := venuetest.User(t, v, "me")
	s := venuetest.Spec("teller", "", `[{"with":"","can":"invoke"}]`)
	s.Tools = []string{"till:pay"}
	m.Ask("till_pay", `{}`)
	r, err := venuetest.Create(t, me, s).Start(t.Context(), "main", "pay")
	if err != nil {
		t.Fatal(err)
	}
	<-began
	if err := me.Stop(t.Context(), r.ID()); err != nil {
		t.Fatal(err)
	}
	open, err := me.OpenCalls(t.Context(), r.ID())
	if err != nil || len(open) != 1 {
		t.Fatalf("the open calls are %+v, %v", open, err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	call := open[0].ID
	for _, tc := range []struct {
		args   []string
		status int
		want   []string // of its output and its notes
	}{
		{[]string{"runs", "show", r.ID()}, cli.ExitOK, []string{"\nunknown effect  " + call + ": till_pay\n", "usher runs outcome " + r.ID() + " " + call + " happened|failed"}},
		{[]string{"runs", "outcome", r.ID(), call, "perhaps"}, cli.ExitMisuse, []string{"perhaps"}},
		{[]string{"runs", "outcome", r.ID(), "c9", "failed"}, cli.ExitMisuse, []string{`has no call "c9" whose effect is unknown`}},
		{[]string{"runs", "outcome", r.ID(), call, "failed", "--note", "the drawer is full"}, cli.ExitOK, []string{r.ID() + " " + call + " failed\n"}},
		{[]string{"runs", "outcome", r.ID(), call, "happened"}, cli.ExitFailed, []string{"has said already of call " + call + ": failed"}},
		{[]string{"runs", "show", r.ID()}, cli.ExitOK, []string{"; the owner said of " + call + " (till_pay) that it failed: the drawer is full"}},
		{[]string{"runs", "show", r.ID(), "--json"}, cli.ExitOK, []string{`"openCalls"`, `"outcome": "failed"`}},
		{[]string{"sessions", "show", "teller", "main"}, cli.ExitOK, []string{"the owner said of " + call + " (till_pay) that it failed: the drawer is full"}},
		{[]string{"audit", "list"}, cli.ExitOK, []string{`(owner)`, `"outcome":"failed"`, `"note":"the drawer is full"`}},
	} {
		status, out, notes := usher(t, "", append(tc.args, "-c", file)...)
		if status != tc.status {
			t.Errorf("%q ends with %d, want %d:\n%s%s", tc.args, status, tc.status, out, notes)
		}
		for _, want := range tc.want {
			if !strings.Contains(out+notes, want) {
				t.Errorf("%q says\n%s%s\nwant %q", tc.args, out, notes, want)
			}
		}
	}
}
