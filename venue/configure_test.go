package venue_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"usher/runtime"
	"usher/venue"
	"usher/venue/config"
	"usher/venue/store/journal"
	"usher/venue/venuetest"
)

// A configuration that is applied to an open venue counts from the next call on.
func TestConfigure(t *testing.T) {
	const models = "user: alice\nmodels: {default: {provider: offline}}\n"
	v := open(t, &venue.Options{Config: parse(t, models+"agents: [{id: clerk, tools: [covia:write], caps: [{with: w/, can: crud}]}]\n")})
	alice := user(t, v, "alice")
	clerk := agentOf(t, alice, "clerk")
	chat(t, clerk, "write w/a one")
	life := about(t, clerk).Created
	if err := v.Configure(t.Context(), parse(t, models+"agents: [{id: clerk, tools: [covia:write], caps: [{with: w/, can: crud/read}]}, {id: late, caps: []}]\n")); err != nil {
		t.Fatal(err)
	}
	chat(t, clerk, "write w/a two")
	if got := read(t, alice, "w/a"); got != is(`"one"`) {
		t.Errorf("narrowed, it wrote %s", got)
	}
	if got := about(t, clerk); got.Created != life || got.Sessions != 1 {
		t.Errorf("the change made another agent of it: %+v", got)
	}
	agentOf(t, alice, "late")

	// Models that cannot be made change nothing, and nothing else is applied.
	wrong := parse(t, "user: alice\nmodels: {default: {provider: openai}}\nagents: [{id: more, caps: []}]\n")
	if err := v.Configure(t.Context(), wrong); err == nil {
		t.Error("a model without its settings is applied")
	}
	if _, err := alice.Agent(t.Context(), "more"); err == nil {
		t.Error("half a configuration is applied")
	}
	chat(t, clerk, "hello")

	// A model that comes is there at the next turn; data is the same user's, whoever is named.
	other := parse(t, "user: bob\nmodels: {default: {provider: offline}, other: {provider: offline}}\nagents: [{id: clerk, model: other, caps: []}]\ndata: [{path: w/b, value: 1}]\n")
	if err := v.Configure(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	chat(t, clerk, "hello")
	if got := read(t, alice, "w/b"); got != is("1") {
		t.Errorf("w/b holds %s", got)
	}
	if got := v.Outcome().Agents; len(got) != 1 || got[0] != "late" {
		t.Errorf("%q left the configuration, want late", got)
	}
}

// A configuration that is given up for the one before, as not all of it could be applied,
// leaves none of its models.
func TestConfigureGoesBack(t *testing.T) {
	named := runtime.Providers{"named": func(_ context.Context, cfg runtime.ModelConfig) (runtime.Model, error) {
		return venuetest.Says(fmt.Sprint(cfg.Settings["name"])), nil
	}}
	conf := func(model, tool string) *config.Config {
		return parse(t, "user: alice\nmodels: {default: {provider: named, name: "+model+"}}\nagents: [{id: clerk, tools: ["+tool+"], caps: []}]\n")
	}
	v := open(t, &venue.Options{Config: conf("first", "covia:read"), Providers: named})
	alice := user(t, v, "alice")
	for _, step := range []struct {
		model, tool, want string
		fails             bool
	}{
		{"second", "covia:nothing", "second", true},
		{"first", "covia:read", "first", false},
		{"second", "covia:read", "second", false},
	} {
		if err := v.Configure(t.Context(), conf(step.model, step.tool)); (err != nil) != step.fails {
			t.Errorf("Configure with %s = %v", step.model, err)
		}
		if got, err := say(t, alice, "clerk"); got != step.want || err != nil {
			t.Errorf("with %s it says %q, %v; want %q", step.model, got, err, step.want)
		}
	}
}

func TestConfigureIsRefused(t *testing.T) {
	c := parse(t, "user: alice\n")
	if err := open(t, nil).Configure(t.Context(), c); err == nil || !strings.Contains(err.Error(), "without a configuration") {
		t.Errorf("a venue without a configuration: %v", err)
	}
	dir := t.TempDir()
	during(t, dir, "", func(*venue.Venue, *venue.User) {})
	if err := open(t, &venue.Options{Dir: dir, ReadOnly: true, Config: c}).Configure(t.Context(), c); err != journal.ErrReadOnly { //nolint:errorlint // it is itself
		t.Errorf("a venue that is only read: %v", err)
	}
}
