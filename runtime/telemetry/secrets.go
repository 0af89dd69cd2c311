package telemetry

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"usher/caps/value"
)

const redacted = value.Redacted

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
	out   *strings.Replacer // nil where it is to be made anew
}

// Conceal leaves the values of JSON texts out of all that the turn records from
// now on, and the turns that it starts: for what sealed operations are given and
// give. Names of fields stay, and values of less than four bytes. It does nothing
// where content is not recorded.
func (s *TurnSpan) Conceal(values ...string) {
	if s != nil && s.secrets != nil {
		s.secrets.conceal(values)
	}
}

func (s *Secrets) conceal(values []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.texts)
	for _, text := range values {
		s.add(text, 0)
	}
	if len(s.texts) > before {
		s.out = nil
	}
}

// add takes the values of a JSON text, or the text where it is none.
func (s *Secrets) add(text string, depth int) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	if depth > secretDepth || d.Decode(&value) != nil || d.More() {
		s.addText(text)
		return
	}
	s.addValue(value, depth)
}

func (s *Secrets) addValue(value any, depth int) {
	switch value := value.(type) {
	case string:
		s.addText(value)
		if strings.HasPrefix(strings.TrimSpace(value), "{") {
			s.add(value, depth+1) // models often send objects so
		}
	case json.Number:
		s.addText(value.String())
	case []any:
		for _, v := range value {
			s.addValue(v, depth)
		}
	case map[string]any:
		for _, v := range value {
			s.addValue(v, depth)
		}
	}
}

// addText takes each line by itself: a text that is quoted has something
// between them.
func (s *Secrets) addText(text string) {
	if s.texts == nil {
		s.texts = make(map[string]bool)
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) < minSecret || len(s.texts) > maxSecrets {
			continue
		}
		s.texts[line] = true
		if escaped, err := json.Marshal(line); err == nil {
			s.texts[string(bytes.Trim(escaped, `"`))] = true
		}
		s.texts[strings.Trim(asJSON(line), `"`)] = true
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
		return redacted
	}
	if s.out == nil {
		s.out = s.replacer()
	}
	return s.out.Replace(text)
}

// replacer tries the longest first: one may begin another.
func (s *Secrets) replacer() *strings.Replacer {
	texts := make([]string, 0, len(s.texts))
	for text := range s.texts {
		texts = append(texts, text)
	}
	slices.SortFunc(texts, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	pairs := make([]string, 0, 2*len(texts))
	for _, text := range texts {
		pairs = append(pairs, text, redacted)
	}
	return strings.NewReplacer(pairs...)
}

func (s *Secrets) scrubMessage(m Message) Message {
	m.Text = s.scrub(m.Text)
	m.Calls = slices.Clone(m.Calls)
	for i := range m.Calls {
		m.Calls[i].Arguments = s.scrub(m.Calls[i].Arguments)
		m.Calls[i].Name = s.scrub(m.Calls[i].Name)
	}
	return m
}
