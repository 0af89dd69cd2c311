package visitors

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"usher/caps/value"
	"usher/tools"
	"usher/ucan"
)

// Want is a capability that an agent asks for: its name, or an object with constraints.
type Want struct {
	Name        string
	Constraints Constraints
}

// UnmarshalJSON reads either form. Constraints under another name would be none, and those that
// stand there twice could be either: both are refused.
func (w *Want) UnmarshalJSON(raw []byte) error {
	if err := json.Unmarshal(raw, &w.Name); err == nil {
		return nil
	}
	var whole struct {
		Name        string          `json:"name"`
		Capability  string          `json:"capability"`
		Constraints json.RawMessage `json:"constraints"`
	}
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	err := tools.CheckObject(raw)
	if err == nil {
		err = strict.Decode(&whole)
	}
	if err != nil {
		return refuse(InvalidRequest, "a capability is its name, or an object with name and constraints: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	w.Name = cmp.Or(whole.Name, whole.Capability)
	w.Constraints, err = ParseConstraints(whole.Constraints)
	return err
}

// Petition is what a request asks a person for.
type Petition struct {
	Capabilities   []Want `json:"capabilities"` // to register, nil is what agents get without asking, and an empty list is nothing
	Reason         string `json:"reason"`
	Method         string `json:"preferred_method"`
	LoginHint      string `json:"login_hint"`
	BindingMessage string `json:"binding_message"`
}

// Registration is what POST /agent/register takes.
type Registration struct {
	Petition
	Name     string `json:"name"`
	Mode     string `json:"mode"`
	HostName string `json:"host_name"`
	Force    bool   `json:"force_approval"`
}

// RegisterResult is an agent after a change, and how a person is asked, where one is.
type RegisterResult struct {
	Agent    *Agent
	Host     *Host
	Approval *Approval // nil where nobody is asked
	Asked    int       // capabilities that a person who answered was asked for
}

// of is what a person is asked, who is nobody where nobody answers for the host yet: then only
// who is shown the code knows of it.
func (q *Petition) of(kind string, person ucan.DID) ask {
	method := cmp.Or(q.Method, deviceMethod)
	if person.IsZero() {
		method = deviceMethod
	}
	return ask{Kind: kind, Method: method, Asked: person, Says: q.BindingMessage, Reason: q.Reason}
}

// check reports what is wrong with what is asked for.
func (q *Petition) check(s *settings) error {
	if len(q.Capabilities) > maxAsked {
		return refuse(InvalidRequest, "%d capabilities: ask for at most %d at once", len(q.Capabilities), maxAsked)
	}
	if err := plainTexts(map[string]string{"reason": q.Reason, "login_hint": q.LoginHint, "binding_message": q.BindingMessage}, maxText); err != nil {
		return err
	}
	if q.Method != "" && !slices.Contains(Methods, q.Method) {
		return refuse(InvalidRequest, "preferred_method is %s: this venue asks by %s", value.Quote(q.Method), strings.Join(Methods, ", "))
	}
	var unknown []string
	for i := range q.Capabilities {
		w := &q.Capabilities[i]
		c := s.grant[w.Name]
		if c == nil {
			unknown = append(unknown, w.Name[:min(len(w.Name), 64)])
			continue
		}
		if _, err := w.Constraints.and(c.imposed); err != nil {
			return err
		}
		if slices.ContainsFunc(q.Capabilities[:i], func(o Want) bool { return o.Name == w.Name }) {
			return refuse(InvalidRequest, "capability %s stands there twice: ask for it once", w.Name)
		}
	}
	if len(unknown) > 0 {
		return refuse(invalidCaps, "there are no such capabilities: GET /capability/list has those that there are").with("invalid_capabilities", unknown)
	}
	return nil
}

// plainTexts reports a text that is too long, or that could write over what stands beside it.
func plainTexts(texts map[string]string, most int) error {
	for name, text := range texts {
		if len(text) > most || !utf8.ValidString(text) || strings.ContainsFunc(text, func(c rune) bool {
			return c < ' ' && c != '\n' || c == 0x7f || c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069
		}) {
			return refuse(InvalidRequest, "%s is longer than %d bytes, or has signs that no text has", name, most)
		}
	}
	return nil
}

func names(list []Want) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = list[i].Name
	}
	return out
}
