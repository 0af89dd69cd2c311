package telemetry

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

const redacted = "[redacted]"

// Bounds of what is left out of the content of spans.
const (
	minSecret   = 4      // bytes: what is shorter stands in every text
	maxSecrets  = 10_000 // in one turn; with more of them nothing is told
	secretDepth = 16     // of JSON within texts of JSON
)

// secrets are texts that a turn met and that its spans must not tell. Nil has
// none. It is safe for concurrent use.
type secrets struct {
	mu    sync.Mutex
	texts map[string]bool
	out   *strings.Replacer // nil where it is to be made anew
}

type secretsKey struct{}

func secretsOf(ctx context.Context) *secrets {
	s, _ := ctx.Value(secretsKey{}).(*secrets)
	return s
}

// Conceal leaves the values of JSON texts out of all that the turn of ctx
// records from now on, and the turns that it starts: for what sealed operations
// are given and give. Names of fields stay, and values of less than four bytes.
// It does nothing where content is not recorded.
func Conceal(ctx context.Context, values ...string) {
	s := secretsOf(ctx)
	if s == nil {
		return
	}
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
func (s *secrets) add(text string, depth int) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	if depth > secretDepth || d.Decode(&value) != nil || d.More() {
		s.addText(text)
		return
	}
	s.addValue(value, depth)
}

func (s *secrets) addValue(value any, depth int) {
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
func (s *secrets) addText(text string) {
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
func (s *secrets) scrub(text string) string {
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
func (s *secrets) replacer() *strings.Replacer {
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

func (s *secrets) scrubMessage(m Message) Message {
	m.Text = s.scrub(m.Text)
	m.Calls = slices.Clone(m.Calls)
	for i := range m.Calls {
		m.Calls[i].Arguments = s.scrub(m.Calls[i].Arguments)
		m.Calls[i].Name = s.scrub(m.Calls[i].Name)
	}
	return m
}
