package telemetry

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"usher/caps/value"
)

// Bounds of what is left out of the content of spans.
const (
	minSecret   = 4      // bytes: what is shorter stands in every text
	maxSecrets  = 10_000 // in one turn; with more of them nothing is told
	secretDepth = 16     // of JSON within texts of JSON
)

// Secrets are texts that a turn, or one that came of it, met and that no span of
// theirs may tell. Nil has none. They are safe for concurrent use.
type Secrets struct {
	mu    sync.Mutex
	texts map[string]bool
	hide  func(string) string // nil where it is to be made anew
}

// Conceal leaves the values of JSON texts out of all that the turn records from
// now on, and the turns that it starts: for what sealed operations are given and
// give. Names of fields stay, and values of less than four bytes. It does nothing
// where content is not recorded.
func (s *TurnSpan) Conceal(values ...string) {
	if s == nil || s.secrets == nil {
		return
	}
	s.secrets.mu.Lock()
	defer s.secrets.mu.Unlock()
	for _, text := range values {
		s.secrets.add(text, 0)
	}
	s.secrets.hide = nil
}

// add takes the values of a JSON text, or the text where it is none.
func (s *Secrets) add(text string, depth int) {
	d := json.NewDecoder(strings.NewReader(text)) // which takes what the gate would refuse
	d.UseNumber()
	var v any
	if depth > secretDepth || d.Decode(&v) != nil || d.More() {
		s.addText(text)
		return
	}
	s.addValue(v, depth)
}

func (s *Secrets) addValue(v any, depth int) {
	switch v := v.(type) {
	case string:
		s.addText(v)
		if strings.HasPrefix(strings.TrimSpace(v), "{") {
			s.add(v, depth+1) // models often send objects so
		}
	case json.Number:
		s.addText(v.String())
	case []any:
		for _, v := range v {
			s.addValue(v, depth)
		}
	case map[string]any:
		for _, v := range v {
			s.addValue(v, depth)
		}
	}
}

// addText takes each line by itself: a text that is quoted has something
// between them.
func (s *Secrets) addText(text string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) >= minSecret && len(s.texts) <= maxSecrets {
			s.texts[line] = true
		}
	}
}

// scrub takes the secrets out of a text.
func (s *Secrets) scrub(text string) string {
	if s == nil || text == "" {
		return text
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.texts) == 0:
		return text
	case len(s.texts) > maxSecrets:
		return value.Redacted
	}
	if s.hide == nil {
		s.hide = value.Hide(slices.Collect(maps.Keys(s.texts))...)
	}
	return s.hide(text)
}
