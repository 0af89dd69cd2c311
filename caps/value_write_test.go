package caps_test

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"usher/caps/value"
)

type inner struct {
	Name string `json:"name"`
}

type written struct {
	Text  string          `json:"text"`
	Some  string          `json:"some,omitempty"`
	N     int64           `json:"n"`
	Count int64           `json:"count,omitempty"`
	Mark  bool            `json:"mark,omitempty"`
	At    time.Time       `json:"at"`
	Texts []string        `json:"texts,omitempty"`
	List  []inner         `json:"list,omitempty"`
	Inner inner           `json:"inner"`
	Raw   json.RawMessage `json:"raw"`
	Any   any             `json:"any"`
}

// write writes v by hand.
func (v *written) write(t rapid.TB) []byte {
	w := value.NewWriter()
	w.Text("text", v.Text)
	w.Some("some", v.Some)
	w.Int("n", v.N)
	w.Count("count", v.Count)
	w.Mark("mark", v.Mark)
	w.Time("at", v.At)
	w.Texts("texts", v.Texts)
	w.List("list", len(v.List), func(i int) { w.Text("name", v.List[i].Name) })
	at := w.Begin("inner")
	w.Text("name", "something else")
	w.End()
	w.Instead(at, []byte("{"))
	w.Text("name", v.Inner.Name)
	w.End()
	if got, want := string(w.Since(at)), string(value.AppendString([]byte(`{"name":`), v.Inner.Name))+"}"; got != want {
		t.Errorf("the text since the inner object is %s, want %s", got, want)
	}
	w.Raw("raw", v.Raw)
	if err := w.Any("any", v.Any); err != nil {
		t.Fatal(err)
	}
	return w.Object()
}

// A writer writes what encoding/json does.
func TestWriterTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := func() string { return rapid.String().Draw(t, "text") }
		v := written{
			Text: text(), Some: text(), N: rapid.Int64().Draw(t, "n"), Count: rapid.Int64Range(0, 2).Draw(t, "count"),
			Mark: rapid.Bool().Draw(t, "mark"), At: time.Unix(rapid.Int64Range(0, 1<<32).Draw(t, "at"), 5).UTC(),
			Texts: rapid.SliceOf(rapid.String()).Draw(t, "texts"), Inner: inner{text()}, Raw: json.RawMessage(`[1]`), Any: text(),
		}
		for range rapid.IntRange(0, 3).Draw(t, "list") {
			v.List = append(v.List, inner{text()})
		}
		want, err := value.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(v.write(t))); diff != "" {
			t.Fatalf("written (-want +got):\n%s", diff)
		}
	})
	if w := value.NewWriter(); string(w.Object()) != "{}" {
		t.Error("an object without members is not {}")
	}
}

// What one writer has written no other changes, side by side and one after the other.
func TestWritersAreApart(t *testing.T) {
	var work sync.WaitGroup
	for i := range 8 {
		work.Go(func() {
			var all [][]byte
			v := written{Text: string(rune('a' + i)), Any: i, Raw: json.RawMessage("[]")}
			for range 100 {
				all = append(all, v.write(t))
			}
			want, _ := value.Encode(v)
			for _, got := range all {
				if string(got) != string(want) {
					t.Errorf("written is %s, want %s", got, want)
				}
			}
		})
	}
	work.Wait()
}
