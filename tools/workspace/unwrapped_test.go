package workspace_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"usher/tools/workspace"
)

// An object or array is taken out of a text however that begins, and nothing else is.
func TestUnwrappedTwin(t *testing.T) {
	part := rapid.OneOf(rapid.SampledFrom([]string{`{"a":1}`, `[]`, " ", "\n", "\u00a0", `"`, `\`, "a", "Z", "true", "{"}), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(part, 0, 4).Draw(t, "parts"), "")
		quoted, _ := json.Marshal(text)
		want := string(quoted)
		if inner := strings.TrimSpace(text); json.Valid([]byte(inner)) && (inner[0] == '{' || inner[0] == '[') {
			want = inner
		}
		if got := workspace.Unwrap(quoted); string(got) != want {
			t.Fatalf("Unwrapped(%s) = %s, want %s", quoted, got, want)
		}
	})
	for _, value := range []string{`null`, `true`, `1`, `{"a":"[]"}`, ` [1]`} {
		if got := workspace.Unwrap([]byte(value)); string(got) != value {
			t.Errorf("Unwrapped(%s) = %s", value, got)
		}
	}
}
