package endpoint

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"usher/tools/form"
)

type values struct {
	Text     string        `json:"text"`
	Yes      bool          `json:"yes"`
	No       Off           `json:"no"`
	Number   float64       `json:"number"`
	Integer  int           `json:"integer" min:"any"`
	Positive int           `json:"positive"`
	Duration time.Duration `json:"duration"`
	Seed     *int          `json:"seed" min:"any"`
}

func TestRead(t *testing.T) {
	var got values
	err := Read("provider p", map[string]any{
		"text": "a", "yes": true, "no": true, "number": json.Number("0.5"), "integer": -3, "positive": json.Number("4"), "duration": "90s", "seed": 0,
	}, &got)
	if err != nil {
		t.Fatal(err)
	}
	want := values{Text: "a", Yes: true, No: false, Number: 0.5, Integer: -3, Positive: 4, Duration: 90 * time.Second, Seed: new(int)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestReadRefuses(t *testing.T) {
	for _, tt := range []struct {
		name  string
		value any
		want  string
	}{
		{"txet", "a", `provider p has no setting "txet": did you mean text?`},
		{"numbr", 1, `provider p has no setting "numbr": did you mean number?`},
		{"SeeD", 1, `provider p has no setting "SeeD": did you mean seed?`},
		{"rateLimit", 1, `provider p has no setting "rateLimit": did you mean rate_limit?`},
		{"retri", true, `provider p has no setting "retri": did you mean retry?`},
		{"api_number", 1, `provider p has no setting "api_number": did you mean number?`},
		{"colour", "red", `provider p has no setting "colour": its settings are duration, integer, no, number, positive, seed, text and yes; ` +
			`any model also takes budget, rate_limit and retry`},
		{"text", "", "text: expected text that is not empty (put it into quotes), got text"},
		{"text", json.Number("3"), "text: expected text that is not empty (put it into quotes), got 3"},
		{"yes", "yes", "yes: expected true or false, got text"},
		{"no", nil, "no: expected true or false, got nothing"},
		{"number", "0.5", "number: expected a number, for example 0.7, got text"},
		{"number", json.Number("1e999"), "number: expected a number, for example 0.7, got 1e999"},
		{"integer", 1.5, "integer: expected a whole number, got 1.5"},
		{"positive", 0, "positive: expected a whole number above 0, got 0"},
		{"duration", 5, "duration: expected a duration above 0, for example 90s or 5m, got 5"},
		{"duration", "-5s", "duration: expected a duration above 0, for example 90s or 5m, got text"},
		{"duration", "0s", "duration: expected a duration above 0, for example 90s or 5m, got text"},
		{"number", math.Inf(1), "number: expected a number, for example 0.7, got +Inf"},
		{"number", math.NaN(), "number: expected a number, for example 0.7, got NaN"},
		{"seed", []any{1}, "seed: expected a whole number, got a list"},
		{"seed", map[string]any{}, "seed: expected a whole number, got a mapping"},
		{"seed", true, "seed: expected a whole number, got true or false"},
	} {
		var got values
		if err := Read("provider p", map[string]any{tt.name: tt.value}, &got, "budget", "rate_limit", "retry"); err == nil || err.Error() != tt.want {
			t.Errorf("Read(%s: %v) = %v, want %s", tt.name, tt.value, err, tt.want)
		}
		if got.Seed != nil {
			t.Errorf("Read(%s: %v) sets what it refuses", tt.name, tt.value)
		}
	}
}

// No error repeats a text: it may be a key in the wrong place.
func TestReadHidesTexts(t *testing.T) {
	var v values
	for _, name := range form.Keys(reflect.TypeFor[values]()) {
		if err := Read("provider p", map[string]any{name: "sk-literal"}, &v); err != nil && strings.Contains(err.Error(), "sk-literal") {
			t.Errorf("%s: the error shows the text: %v", name, err)
		}
	}
}
