package venue_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"usher/tools/scheduler"
	"usher/venue"
	"usher/venue/apply"
)

// Schedules of the configuration are made, replaced where they have changed, left alone
// where they have not, and told of where they have left it.
func TestSchedulesOfTheConfiguration(t *testing.T) {
	const head = "user: alice\nmodels: {default: {provider: offline}}\nagents: [{id: carol, caps: [{with: w/, can: crud}]}]\n"
	const (
		three = head + "schedules: [{id: nightly, agent: carol, op: covia:write, input: {path: w/a, value: 1}, cron: 0 3 * * *, zone: Europe/Berlin, note: Each night.}]\n"
		four  = head + "schedules: [{id: nightly, say: {agent: carol, text: go}, cron: 0 4 * * *, missed: skip}]\n"
		past  = head + "schedules: [{id: late, op: 'json:merge', input: {values: []}, at: 2026-01-01T00:00:00Z}]\n"
	)
	dir, noon := t.TempDir(), time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for i, tt := range []struct {
		config  string
		want    apply.Outcome
		there   []string
		cancels string // what somebody cancels afterwards
	}{
		{three, apply.Outcome{}, []string{"nightly of carol: v/ops/covia/write, 0 3 * * * Europe/Berlin, next 2026-05-05 01:00, fire, Each night."}, ""},
		{three, apply.Outcome{}, []string{"nightly of carol: v/ops/covia/write, 0 3 * * * Europe/Berlin, next 2026-05-05 01:00, fire, Each night."}, ""},
		{four, apply.Outcome{}, []string{"nightly of : v/ops/agent/request, 0 4 * * * , next 2026-05-05 04:00, skip, "}, "nightly"},
		{four, apply.Outcome{}, nil, ""},
		{three, apply.Outcome{}, []string{"nightly of carol: v/ops/covia/write, 0 3 * * * Europe/Berlin, next 2026-05-05 01:00, fire, Each night."}, ""},
		{head, apply.Outcome{Schedules: []string{"nightly"}}, []string{"nightly of carol: v/ops/covia/write, 0 3 * * * Europe/Berlin, next 2026-05-05 01:00, fire, Each night."}, "nightly"},
		{head, apply.Outcome{}, nil, ""},
		{three, apply.Outcome{}, []string{"nightly of carol: v/ops/covia/write, 0 3 * * * Europe/Berlin, next 2026-05-05 01:00, fire, Each night."}, "nightly"},
		{past, apply.Outcome{Passed: []string{"late"}}, nil, ""},
		{past, apply.Outcome{}, nil, ""},
	} {
		v, err := venue.Open(t.Context(), &venue.Options{Dir: dir, Config: parse(t, tt.config), Now: func() time.Time { return noon }, Idle: true})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, v.Outcome()); diff != "" {
			t.Errorf("opening %d (-want +got):\n%s", i, diff)
		}
		alice := user(t, v, "alice")
		var list scheduler.Listing
		if err := json.Unmarshal([]byte(invoke(t, alice, "scheduler:list", `{}`)), &list); err != nil {
			t.Fatal(err)
		}
		var there []string
		for _, e := range list.Events {
			there = append(there, fmt.Sprintf("%s of %s: %s, %s %s, next %s, %s, %s", e.Handle, e.Agent, e.Op, e.Cron, e.Zone, time.UnixMilli(e.Time).UTC().Format("2006-01-02 15:04"), e.Policy, e.Note))
		}
		if diff := cmp.Diff(tt.there, there); diff != "" {
			t.Errorf("after opening %d there are (-want +got):\n%s", i, diff)
		}
		if tt.cancels != "" {
			invoke(t, alice, "scheduler:cancel", `{"handle":"`+tt.cancels+`"}`)
		}
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, err := venue.Open(t.Context(), &venue.Options{Config: parse(t, strings.Replace(three, "can: crud", "can: crud/read", 1))})
	if err == nil || !strings.Contains(err.Error(), "apply schedule nightly: Capability denied: v/ops/covia/write requires crud/write on w/a") {
		t.Errorf("with a schedule of an agent that may not: %v", err)
	}
}
