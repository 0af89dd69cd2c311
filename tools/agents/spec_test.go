package agents

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"usher/tools/form"
)

// Capabilities that are absent, null and none are three things, and stay so.
func TestSpecKeepsWhatCapsSay(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "absent", `null`: "absent", `{"caps":null}`: "null", `{"caps":[]}`: "(none)", `{"caps":[{"with":"","can":"*"}]}`: "* on (any)",
		`"{\"caps\":[]}"`: "(none)", // as models write it
	} {
		var spec Spec
		if err := json.Unmarshal([]byte(text), &spec); err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		var again Spec
		if err := json.Unmarshal(raw, &again); err != nil {
			t.Fatal(err)
		}
		for _, s := range []Spec{spec, again} {
			got := "absent"
			if set, listed := s.Caps.Set(); listed {
				got = set.String()
			} else if s.Caps.IsNull() {
				got = "null"
			}
			if got != want {
				t.Errorf("caps of %s are %s, want %s", text, got, want)
			}
		}
	}
}

// A change replaces each field that stands in it, whichever that is.
func TestEveryFieldOfASpecIsMerged(t *testing.T) {
	values := map[string]string{
		"ID": `"b"`, "Description": `"b"`, "Model": `"b"`, "Prompt": `"b"`, "Tools": `[]`, "Context": `[{"text":"b"}]`, "Output": `{"type":"object"}`,
		"Authority": `"own"`, "Identity": `"own"`, "Caps": `[]`, "Parent": `"b"`, "Ask": `true`, "Budgets": `{}`, "SuspendAfter": `0`,
	}
	base := Spec{ID: "a", Description: "a", Model: "a", Prompt: "a", Tools: []string{"a"}, Context: []ContextEntry{{Text: "a"}}, Parent: "a"}
	for f := range reflect.TypeFor[Spec]().Fields() {
		if f.Name == "_" {
			continue
		}
		value, known := values[f.Name]
		if !known {
			t.Fatalf("there is no value to change %s to: add one", f.Name)
		}
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		var change Spec
		if err := json.Unmarshal(fmt.Appendf(nil, `{%q:%s}`, key, value), &change); err != nil {
			t.Fatal(err)
		}
		want := base
		at := reflect.ValueOf(&want).Elem().FieldByIndex(f.Index)
		at.Set(reflect.ValueOf(change).FieldByIndex(f.Index))
		if got := form.Over(base, change); !reflect.DeepEqual(got, want) {
			t.Errorf("%s changed is %+v, want %+v", key, got, want)
		}
	}
}

func TestConfigIsBounded(t *testing.T) {
	for n, ok := range map[int]bool{maxConfig: true, maxConfig + 1: false} {
		text := `{"prompt":"` + strings.Repeat("x", n-len(`{"prompt":""}`)) + `"}`
		if err := json.Unmarshal([]byte(text), new(Spec)); (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "at most 1048576") {
			t.Errorf("a config of %d bytes: %v", n, err)
		}
	}
}
