// Package prompt says what the model hears: the system message of a turn, with
// the disclosure of the agent's capabilities last. Its functions are pure: the
// same input gives the same bytes. [System] is the one to call first.
package prompt

import (
	"regexp"
	"strings"

	"usher/caps"
	"usher/caps/value"
)

// Input is all that a system message is made of. Empty parts are left out.
type Input struct {
	Identity string            // who the agent is and what it should do
	Date     string            // YYYY-MM-DD
	Venue    string            // name of the venue
	Model    string            // name of the model
	Context  []ContextEntry    // material to work with, in order
	Output   string            // JSON Schema that the answer must fit
	Self     string            // DID that the agent acts as; told where Held is not empty
	Held     []Delegation      // what others have delegated to it, as far as it holds now
	Granted  []caps.Capability // what persons have granted for the task at hand, beside Caps
	Asks     bool              // the owner is asked for what Caps lack, where they have any
	Caps     caps.Set          // effective capabilities, disclosed last
}

// Delegation is one capability in another principal's namespace.
type Delegation struct {
	Capability caps.Capability // the resource with its owner's DID
	Owner      string          // DID
	Expires    string          // RFC 3339; empty where it does not expire
}

// ContextEntry is one labelled text in the agent's context.
type ContextEntry struct {
	Label string
	Text  string
}

// System returns the system message.
func System(in Input) string {
	var sections []string
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			sections = append(sections, s)
		}
	}
	add(instruction(in.Identity))
	add(setting(in))
	for _, entry := range in.Context {
		add("[Context: " + name(entry.Label) + "]\n" + material(entry.Text))
	}
	if in.Output != "" {
		add("Answer with one JSON value that fits this JSON Schema, and nothing else:\n" + instruction(in.Output))
	}
	add(delegations(in))
	add(grants(in.Granted))
	if in.Asks && !in.Caps.IsEmpty() {
		add(asks)
	}
	add(Disclosure(in.Caps))
	return strings.Join(sections, "\n\n")
}

func setting(in Input) string {
	var facts []string
	for _, fact := range [...]struct{ name, value string }{
		{"Current date", in.Date}, {"Venue", in.Venue}, {"Model", in.Model},
	} {
		if fact.value != "" {
			facts = append(facts, fact.name+": "+name(fact.value)+".")
		}
	}
	return strings.Join(facts, " ")
}

// delegations tells an agent what it may do in the namespaces of others, where
// its capabilities alone give it nothing.
func delegations(in Input) string {
	if len(in.Held) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("## Delegated to you\nYou act as " + in.Self + ". In the namespaces of others you may, by their delegation:\n")
	for _, d := range in.Held {
		b.WriteString("- " + d.Capability.String() + " (from " + d.Owner)
		if d.Expires != "" {
			b.WriteString(", until " + d.Expires)
		}
		b.WriteString(")\n")
	}
	b.WriteString("Write such a resource with its owner's DID in front, as it stands here.")
	return b.String()
}

// grants tells an agent what it may do in its task, beside its capabilities.
func grants(list []caps.Capability) string {
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("## Granted to you for this task\nBeside your capabilities a person lets you, for this task alone:\n")
	for _, c := range list {
		b.WriteString("- " + c.String() + "\n")
	}
	return b.String()
}

const asks = "Your owner is asked about a call that your capabilities do not allow, and may let you make it for the task at hand: where the task needs one, make it, once."

const (
	disclosureHeader = "## Your capabilities (caps)\n"
	disclosureNone   = "- (none) — you have no tool capabilities. Any tool call will be denied.\n"
	disclosureEnd    = "Tool calls outside these capabilities will fail with a \"Capability denied\" error.\n" +
		"Retrying the same call does not help — the denial is structural."
)

// Disclosure tells a model its bounds, as COG-13, "Disclosure", formats them, with the
// terms of those that have any; empty when set is unrestricted.
func Disclosure(set caps.Set) string {
	if set.IsUnrestricted() {
		return ""
	}
	var b strings.Builder
	b.WriteString(disclosureHeader)
	if set.IsEmpty() {
		b.WriteString(disclosureNone + disclosureEnd)
		return b.String()
	}
	for c := range set.All() {
		b.WriteString("- ")
		b.WriteString(c.String())
		b.WriteByte('\n')
	}
	b.WriteString(disclosureEnd)
	return b.String()
}

// unset stands where [Unset] took the facts of [setting] out.
const unset = "Any date, venue and model."

// factual is the section that [setting] writes, when it begins with a date, or
// what [Unset] makes of it.
var factual = value.Form(`^(?:Current date: \d{4}-\d{2}-\d{2}\.(?: Venue: .*\.)?(?: Model: .*\.)?|` + regexp.QuoteMeta(unset) + `)$`)

// Unset returns a message of [System] without its date and the names of the
// venue and of the model, so that it can be compared with that of another day
// or place. Only the sentences that System wrote change, never ones like them
// in the identity before or in the context after. Any other text is returned
// as it is.
func Unset(system string) string {
	sections := strings.Split(system, "\n\n")
	own := -1
	for i, s := range sections {
		if strings.HasPrefix(s, "[Context: ") {
			break
		}
		if factual().MatchString(s) {
			own = i // the last one: what stands before it is the identity's
		}
	}
	if own < 0 {
		return system
	}
	sections[own] = unset
	return strings.Join(sections, "\n\n")
}
