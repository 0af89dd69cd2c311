package caps_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"usher/caps"
	"usher/caps/value"
)

func decoded(t interface{ Fatal(...any) }, text string) any {
	v, err := value.Decode([]byte(text), value.MaxDepth)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestLimitsNarrow(t *testing.T) {
	const input = `{"to":"ann","amount":250,"debt":-40,"list":[1,20],"deep":{"n":3}}`
	for _, tc := range []struct {
		name, when, wrong string // of Narrow; empty: it is narrower
		admits, refuses   []string
	}{
		{
			"a smaller amount", `{"/amount":{"max":100}}`, "",
			[]string{`{"to":"ann","amount":100,"debt":-40,"list":[1,20],"deep":{"n":3}}`, `{"amount":0,"to":"ann","debt":-40.0,"list":[1,20],"deep":{"n":3}}`},
			[]string{
				input, `{"to":"ann","amount":101,"debt":-40,"list":[1,20],"deep":{"n":3}}`, `{"to":"ann","amount":-1,"debt":-40,"list":[1,20],"deep":{"n":3}}`,
				`{"to":"ben","amount":100,"debt":-40,"list":[1,20],"deep":{"n":3}}`, `{"to":"ann","amount":100,"debt":-40,"list":[1,20],"deep":{"n":3},"more":1}`,
				`{"to":"ann","amount":100,"list":[1,20],"deep":{"n":3}}`, `{"to":"ann","amount":"100","debt":-40,"list":[1,20],"deep":{"n":3}}`,
				`{"to":"ann","amount":100,"Amount":250,"debt":-40,"list":[1,20],"deep":{"n":3}}`, `[]`,
				`{"to":"ann","amount":100,"debt":-39,"list":[1,20],"deep":{"n":3}}`,
			},
		},
		{
			"two places", `{"/list/1":{"max":5},"/deep/n":{"max":2,"min":1}}`, "",
			[]string{`{"to":"ann","amount":250,"debt":-40,"list":[1,5],"deep":{"n":1}}`},
			[]string{`{"to":"ann","amount":250,"debt":-40,"list":[0,5],"deep":{"n":1}}`, `{"to":"ann","amount":250,"debt":-40,"list":[1,5],"deep":{"n":0}}`, `{"to":"ann","amount":250,"debt":-40,"list":[1,5,9],"deep":{"n":1}}`},
		},
		{
			"less of what is owed", `{"/debt":{"min":-10}}`, "",
			[]string{`{"to":"ann","amount":250,"debt":-10,"list":[1,20],"deep":{"n":3}}`},
			[]string{`{"to":"ann","amount":250,"debt":5,"list":[1,20],"deep":{"n":3}}`},
		},
		{"limits that the call is within", `{"/to":"ann"}`, "", []string{input}, []string{`{"to":"ben","amount":250,"debt":-40,"list":[1,20],"deep":{"n":3}}`}},
		{"a larger amount", `{"/amount":{"min":300}}`, "/amount is 250, and nothing smaller is at least 300: that would be wider than the call", nil, nil},
		{"another number alone", `{"/amount":300}`, "wider than the call", nil, nil},
		{"another text", `{"/to":"ben"}`, `/to is "ann", and not "ben": only numbers can be made smaller`, nil, nil},
		{"a place that it has not", `{"/tip":{"max":1}}`, "the call has no /tip", nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l, err := caps.ParseLimits([]byte(tc.when))
			if err != nil {
				t.Fatal(err)
			}
			err = l.Narrow(decoded(t, input))
			if (err == nil) != (tc.wrong == "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
				t.Errorf("Narrow(%s) = %v, want %q", tc.when, err, tc.wrong)
			}
			for _, other := range tc.admits {
				if !l.Admit(decoded(t, input), decoded(t, other)) {
					t.Errorf("%s does not admit %s", tc.when, other)
				}
			}
			for _, other := range tc.refuses {
				if l.Admit(decoded(t, input), decoded(t, other)) {
					t.Errorf("%s admits %s", tc.when, other)
				}
			}
			if again, err := caps.ParseLimits(l.JSON()); err != nil || again.String() != l.String() {
				t.Errorf("%s prints as %s, %v", tc.when, l.JSON(), err)
			}
		})
	}
	for _, wrong := range []string{``, `{}`, `[]`, `{"amount":1}`, `{"/amount":{"above":1}}`} {
		if _, err := caps.ParseLimits([]byte(wrong)); err == nil {
			t.Errorf("%q is read as limits", wrong)
		}
	}
}

// What limits admit of a call differs from it in numbers alone, which are no larger.
func TestLimitsAdmitNothingWider(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		input := map[string]any{}
		other := map[string]any{}
		for _, key := range []string{"a", "b"} {
			input[key] = rapid.IntRange(-5, 5).Draw(t, "in "+key)
			other[key] = rapid.IntRange(-5, 5).Draw(t, "other "+key)
		}
		when := map[string]any{"/a": map[string]any{rapid.SampledFrom([]string{"max", "min"}).Draw(t, "bound"): rapid.IntRange(-5, 5).Draw(t, "at")}}
		text := func(v any) string { raw, _ := json.Marshal(v); return string(raw) }
		l, err := caps.ParseLimits([]byte(text(when)))
		if err != nil {
			t.Fatal(err)
		}
		admitted := l.Admit(decoded(t, text(input)), decoded(t, text(other)))
		a, b := input["a"].(int), other["a"].(int) //nolint:forcetypeassert // drawn as such
		if admitted && (input["b"] != other["b"] || b < min(a, 0) || b > max(a, 0) || !l.Hold(decoded(t, text(other)))) {
			t.Errorf("%s of %s admits %s", text(when), text(input), text(other))
		}
		if admitted && l.Narrow(decoded(t, text(input))) != nil {
			t.Errorf("%s admits %s of %s, and says that it is not narrower", text(when), text(other), text(input))
		}
	})
}
