package wrap

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
)

// exact is a text that survives YAML byte by byte. What YAML cannot say
// stands as {base64: …}.
type exact string

// UnmarshalYAML reads a text, or base64.
func (e *exact) UnmarshalYAML(decode func(any) error) error {
	var text string
	if err := decode(&text); err == nil {
		*e = exact(text)
		return nil
	}
	var other struct {
		Base64 string `yaml:"base64"`
	}
	if err := decode(&other); err != nil {
		return fmt.Errorf("want a text or {base64: …}: %w", err)
	}
	raw, err := base64.StdEncoding.DecodeString(other.Base64)
	*e = exact(raw)
	return err
}

// MarshalJSON writes the text, or base64 where it is not valid UTF-8.
func (e exact) MarshalJSON() ([]byte, error) {
	return []byte(e.flow()), nil
}

// flow is the text on one line.
func (e exact) flow() string {
	if !sayable(string(e)) {
		return `{"base64":"` + base64.StdEncoding.EncodeToString([]byte(e)) + `"}`
	}
	return quoteJSON(string(e))
}

// sayable says that YAML's escapes and its reader keep the text as it is.
func sayable(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r > 0x7f && !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// blocky says that the text reads well as a literal block, and means itself there.
func blocky(s string) bool {
	if !strings.Contains(s, "\n") || strings.HasSuffix(s, "\n") || !sayable(s) || strings.Contains(s, "\t") {
		return false
	}
	for i, line := range strings.Split(s, "\n") {
		if strings.HasSuffix(line, " ") || i == 0 && (line == "" || line[0] == ' ') {
			return false
		}
	}
	return true
}

func quoteJSON(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string cannot fail to encode
	return strings.TrimSuffix(b.String(), "\n")
}

// printer writes the YAML of a cassette. Without blocks all texts stand on
// one line, less readable and beyond doubt.
type printer struct {
	strings.Builder
	blocks bool
}

func (p *printer) text(indent, key string, e exact) {
	if e == "" {
		return
	}
	if !p.blocks || !blocky(string(e)) {
		p.WriteString(indent + key + ": " + e.flow() + "\n")
		return
	}
	inner := "\n" + strings.Repeat(" ", len(indent)+2)
	body := inner + strings.ReplaceAll(string(e), "\n", inner)
	body = strings.ReplaceAll(body+"\n", inner+"\n", "\n\n") // no blanks on empty lines
	p.WriteString(indent + key + ": |-" + body)
}

func (p *printer) request(r *recordedRequest) {
	p.WriteString("request:\n")
	p.text("  ", "system", r.System)
	if len(r.Messages) > 0 {
		p.WriteString("  messages:\n")
	}
	for _, m := range r.Messages {
		p.WriteString("    - role: " + m.Role.flow() + "\n")
		p.text("      ", "call_id", m.CallID)
		p.text("      ", "name", m.Name)
		if m.Failed {
			p.WriteString("      failed: true\n")
		}
		p.text("      ", "reasoning", m.Reasoning)
		p.text("      ", "text", m.Text)
		if len(m.Calls) > 0 {
			p.WriteString("      calls:\n")
		}
		for _, c := range m.Calls {
			p.WriteString("        - " + line(c) + "\n")
		}
	}
	if len(r.Tools) > 0 {
		p.WriteString("  tools:\n")
	}
	for _, t := range r.Tools {
		p.WriteString("    - name: " + t.Name.flow() + "\n")
		p.text("      ", "description", t.Description)
		p.text("      ", "input", t.Input)
	}
	p.text("  ", "output", r.Output)
}

func (p *printer) episode(e *episode) {
	p.WriteString("---\n")
	p.request(&e.Request)
	if len(e.Chunks) > 0 {
		p.WriteString("chunks:\n")
	}
	for _, c := range e.Chunks {
		p.WriteString("  - " + line(c) + "\n")
	}
	if e.Error != nil {
		p.WriteString("error: " + line(e.Error) + "\n")
	}
	if e.Left {
		p.WriteString("left: true\n")
	}
}

// line prints a value as JSON, which is YAML too.
func line(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // of strings, numbers and truth values alone
	return strings.TrimSuffix(b.String(), "\n")
}

// print returns the episode's text after proof that it reads back the same.
func (e *episode) print() (string, error) {
	for _, blocks := range []bool{true, false} {
		p := printer{blocks: blocks}
		p.episode(e)
		back, err := parseCassette(strings.NewReader(p.String()))
		if err == nil && len(back) == 1 && reflect.DeepEqual(&back[0], e) {
			return p.String(), nil
		}
	}
	return "", errors.New("the request or its answer cannot be written exactly")
}

// canonical is the request as text: what requests are compared by.
func (r *recordedRequest) canonical() string {
	p := printer{blocks: true}
	p.request(r)
	return p.String()
}

// parseCassette reads all episodes; unknown keys are errors with their place.
func parseCassette(r io.Reader) ([]episode, error) {
	dec := yaml.NewDecoder(r, yaml.Strict())
	var out []episode
	for {
		var e episode
		err := decode(dec, &e)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read cassette: entry %d: %w", len(out)+1, err)
		}
		out = append(out, e)
	}
}

// decode makes an error of the library's panics: it has some over malformed
// YAML (testdata/fuzz), and a damaged file must not end the program.
func decode(dec *yaml.Decoder, e *episode) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("malformed YAML: %v", p)
		}
	}()
	return dec.Decode(e)
}
