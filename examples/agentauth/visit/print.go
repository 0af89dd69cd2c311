package visit

import (
	"encoding/json"
	"fmt"
	"strings"

	"usher/caps/value"
	"usher/venue/cli"
)

// print tells the story.
func (s *stage) print(p *cli.Page) error {
	p.Head("Agent-Auth: an agent of Acme is let in at the bank of Alice, over HTTP")
	for i, sc := range s.Scenes {
		p.Head(fmt.Sprintf("%d. %s", i+1, sc.Title))
		s.printSteps(p, sc.Steps)
	}
	p.Line()
	p.Line(fmt.Sprintf("   The account had 1000, and has %d.", s.Balance))
	if s.Verified {
		p.Line(fmt.Sprintf("   Both venues have signed their ledgers, %d rows of Acme and %d of the bank, and they are ", s.Rows[0], s.Rows[1]), p.Good("as they were written"), ".")
	}
	for _, u := range s.Unexpected {
		p.Line(p.Bad("UNEXPECTED"), " ", u)
	}
	return p.Err()
}

func (s *stage) printSteps(p *cli.Page, steps []step) {
	rows := make([][]any, len(steps))
	for i := range steps {
		st := &steps[i]
		outcome := p.Bad(st.Outcome)
		switch st.Outcome {
		case done:
			outcome = p.Good(st.Outcome)
		case waits:
			outcome = p.Warn(st.Outcome)
		}
		rows[i] = []any{"   " + st.Who, st.Does, outcome, p.Dim(s.plain(st.summary()))}
	}
	p.Table(rows)
}

// said takes the code and the message out of what the bank says of a refusal.
var said = value.Form(`the server answers (\d+ \w+): ([^.:;[]*)`)

// summary is what came of a step, in a line.
func (s *step) summary() string {
	if m := said().FindStringSubmatch(s.Words); m != nil {
		return m[1] + ": " + strings.TrimSpace(m[2])
	}
	if s.Outcome == denied || s.Outcome == refused {
		return firstSentence(s.Words)
	}
	var out struct {
		ProviderName string                  `json:"provider_name"`
		Description  string                  `json:"description"`
		Capabilities []struct{ Name string } `json:"capabilities"`
		Grants       []struct {
			Capability  string          `json:"capability"`
			Status      string          `json:"status"`
			Constraints json.RawMessage `json:"constraints"`
		} `json:"agent_capability_grants"`
		Data *struct {
			Balance int
			Moved   int `json:"moved"`
		} `json:"data"`
	}
	if json.Unmarshal(s.Result, &out) != nil {
		return ""
	}
	text := ""
	for _, c := range out.Capabilities {
		text = and(text, c.Name)
	}
	for _, g := range out.Grants {
		text = and(text, g.Capability+" "+g.Status)
		if len(g.Constraints) > 0 {
			text += " within " + string(g.Constraints)
		}
	}
	switch {
	case out.ProviderName != "":
		text = out.ProviderName + ": " + out.Description
	case out.Data != nil && out.Data.Moved > 0:
		text = fmt.Sprintf("%d moved", out.Data.Moved)
	case out.Data != nil:
		text = fmt.Sprintf("it is %d", out.Data.Balance)
	}
	return text
}

func and(a, b string) string {
	if a == "" {
		return b
	}
	return a + ", " + b
}

var sentence = value.Form(`^.*?\.( |$)`)

func firstSentence(text string) string {
	if m := sentence().FindString(text); m != "" {
		return m
	}
	return text
}
