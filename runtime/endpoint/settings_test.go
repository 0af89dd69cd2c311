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
		{"colour", "red", `provider p has no setting "colour": its settings are duration, integer, no, number, positive, seed, text, yes; ` +
			`any model also takes budget, rate_limit, retry`},
		{"text", "", "text is empty: write text"},
		{"text", json.Number("3"), `text is a number: in quotes it is text, text: "3"`},
		{"yes", "yes", "yes is text: write true or false"},
		{"no", nil, "no: write true or false"},
		{"number", "0.5", "number is text: write a number"},
		{"number", json.Number("1e999"), "number is a number: write a number"},
		{"integer", 1.5, "integer is 1.5: write a whole number"},
		{"positive", 0, "positive is 0: write a whole number above 0"},
		{"duration", 5, "duration is 5: write a time with its unit"},
		{"duration", "-5s", "duration is text: write a time with its unit"},
		{"duration", "0s", "duration is text: write a time with its unit"},
		{"number", math.Inf(1), "number is a number: write a number"},
		{"number", math.NaN(), "number is a number: write a number"},
		{"seed", []any{1}, "seed is a list: write a whole number"},
		{"seed", map[string]any{}, "seed is an object: write a whole number"},
		{"seed", true, "seed is a boolean: write a whole number"},
	} {
		var got values
		if err := Read("provider p", map[string]any{tt.name: tt.value}, &got, "budget", "rate_limit", "retry"); err == nil || err.Error() != tt.want {
			t.Errorf("Read(%s: %v) = %v, want %s", tt.name, tt.value, err, tt.want)
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
