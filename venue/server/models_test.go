package server_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
	"usher/tools/agents"
	"usher/venue"
	"usher/venue/server"
	"usher/venue/venuetest"
)

// What models are used is counted by their names, answers and failures alike.
func TestModelsAreCounted(t *testing.T) {
	m := server.NewMetrics()
	v := beginAs(t, listen(t, "127.0.0.1:0"), &server.Options{Metrics: m}, &venue.Options{
		Models: map[string]runtime.Model{"default": &venuetest.Model{Usage: &runtime.Usage{Input: 11, Output: 7}}},
		Logger: slog.New(slog.NewTextHandler(new(text), nil)),
	})
	alice, err := v.User(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	bob, err := alice.CreateAgent(t.Context(), agents.Spec{ID: "bob"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, err := range bob.Chat(t.Context(), "hello") {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	families, err := m.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "usher_model_") {
			continue
		}
		for _, one := range f.GetMetric() {
			var labels []string
			for _, l := range one.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			got = append(got, fmt.Sprint(f.GetName(), labels, one.GetCounter().GetValue()))
		}
	}
	want := []string{
		"usher_model_calls_total[model= outcome=answered provider=_OTHER] 2",
		"usher_model_calls_total[model= outcome=failed provider=_OTHER] 0",
		"usher_model_tokens_total[kind=input model= provider=_OTHER] 22",
		"usher_model_tokens_total[kind=output model= provider=_OTHER] 14",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is counted (-want +got):\n%s", diff)
	}
}
