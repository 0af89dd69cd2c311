package caps

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// shownCapabilities is how many capabilities a denial lists: a long list would
// crowd out what the model needs to read.
const shownCapabilities = 32

// Denial says that a call was refused and why, in the words of COG-13, "Denial
// Messages". It is an error, so that it can travel as one.
type Denial struct {
	Operation    string
	Ability      Ability
	Resource     string // canonical; "" for the root, and where there was none
	Capabilities Set
	Why          string // a sentence more on the reason, or ""
	BoundedBy    string // the agent that asked, where only what that one may do is in the way; or ""
	Hint         string // the nearest thing that is allowed, or ""; not part of Error
}

var _ error = (*Denial)(nil)

// Error returns the text of COG-13, on one line, followed by Why and BoundedBy.
func (d *Denial) Error() string {
	text := fmt.Sprintf("Capability denied: %s requires %s on %s. Your capabilities are: %s. Retrying the same call will not succeed — the denial is structural. %s",
		oneLine(d.Operation), cmp.Or(d.Ability, "(invalid)"), orAny(d.Resource), d.Capabilities.text(shownCapabilities), d.Why)
	text = strings.TrimSuffix(text, " ")
	if d.BoundedBy != "" {
		text += fmt.Sprintf(" You are bounded by %s, who asked: your own capabilities would allow it.", oneLine(d.BoundedBy))
	}
	return text
}

// MarshalJSON writes the denial as an object that programs read; "message" is
// the text of [Denial.Error]. Where the list of capabilities is cut,
// "capabilitiesOmitted" says by how many.
func (d *Denial) MarshalJSON() ([]byte, error) {
	shown, omitted := d.Capabilities, 0
	if list := shown.list(); len(list) > shownCapabilities {
		shown, omitted = Of(list[:shownCapabilities]...), len(list)-shownCapabilities
	}
	return json.Marshal(struct {
		Error        string  `json:"error"`
		Operation    string  `json:"operation"`
		Ability      Ability `json:"ability"`
		Resource     string  `json:"resource"`
		Capabilities Set     `json:"capabilities"`
		Omitted      int     `json:"capabilitiesOmitted,omitempty"`
		Retryable    bool    `json:"retryable"`
		Message      string  `json:"message"`
		BoundedBy    string  `json:"boundedBy,omitempty"`
		Hint         string  `json:"hint,omitempty"`
	}{
		Error: "capability_denied", Operation: d.Operation, Ability: d.Ability, Resource: d.Resource,
		Capabilities: shown, Omitted: omitted, Message: d.Error(), BoundedBy: d.BoundedBy, Hint: d.Hint,
	})
}

// oneLine quotes a name that would not print as it is. Operations are named by
// whoever calls.
func oneLine(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}

// hintScan bounds how many capabilities a hint looks at, so that a denial costs
// the same whatever else is held.
const hintScan = 128

// hint names the nearest resource on which s allows the ability that r was
// denied for, or is "" where none shares its first segment.
func (s Set) hint(r Request) string {
	if s.IsUnrestricted() || r.kind < onResource {
		return ""
	}
	near := s.nearest(r.can, r.on)
	with := near.With()
	switch {
	case with == "":
		return ""
	case strings.HasSuffix(with, "/"):
		return "You may " + string(r.can) + " below " + with + near.terms.String() + "."
	default: // below an agent or a secret there is nothing, and a record is itself what may be used
		return "You may " + string(r.can) + " on " + with + near.terms.String() + "."
	}
}

// nearest returns the capability for can that shares the most segments with on,
// and then the most bytes. All of one's own is below the root: the first will do.
func (s Set) nearest(can Ability, on Resource) (best Capability) {
	segments, bytes := 0, 0
	list := s.list()
	for _, c := range list[:min(len(list), hintScan)] {
		if c.Denies() || !c.can.Covers(can) {
			continue
		}
		text := c.Resource().text
		if on.IsRoot() && !c.Resource().absolute() {
			return c
		}
		alike := commonPrefix(text, on.text)
		shared := strings.Count(text[:alike], "/")
		if endsSegment(text, alike) && endsSegment(on.text, alike) {
			shared++
		}
		if shared > segments || shared == segments && shared > 0 && alike > bytes {
			best, segments, bytes = c, shared, alike
		}
	}
	return best
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
