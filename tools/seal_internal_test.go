package tools

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"usher/caps/value"
)

// A trail is written as encoding/json writes it, so that the seal holds whoever
// passes it on.
func TestTrailTwin(t *testing.T) {
	text := rapid.OneOf(rapid.Just(""), rapid.StringOf(rapid.SampledFrom([]rune("a<>&\u2028\"ä/"))))
	rapid.Check(t, func(t *rapid.T) {
		tr := trail{
			Run: text.Draw(t, "run"), Parent: text.Draw(t, "parent"), Session: text.Draw(t, "session"),
			Depth: rapid.IntRange(0, 2).Draw(t, "depth"), Inner: rapid.Bool().Draw(t, "inner"), Turns: rapid.SliceOfN(text, 0, 3).Draw(t, "turns"),
			Until: rapid.Int64Range(0, 2).Draw(t, "until"), Bearer: text.Draw(t, "bearer"),
		}
		want, _ := json.Marshal(map[string]any{"trail": tr})
		w := value.NewWriter()
		if err := tr.write(&w, "trail"); err != nil {
			t.Fatal(err)
		}
		if got := w.Object(); string(got) != string(want) {
			t.Fatalf("the trail is written as %s, want %s", got, want)
		}
	})
}
