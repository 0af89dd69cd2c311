package runtime

import (
	"context"
	"time"

	"usher/caps/value"
)

// What a person says of a call whose effect was unknown.
const (
	Happened = "happened"
	Failed   = "failed" // nothing of it happened
)

// OutcomeNote is what a person says of a call whose effect was unknown. The next turn
// hears it, as that person's word.
type OutcomeNote struct {
	Run       string `json:"run"`
	Event     uint64 `json:"event,omitempty"` // number of the call's result in the log; 0: the call is all that the run is
	CallID    string `json:"callId"`
	Name      string `json:"name"`
	Operation string `json:"operation,omitempty"` // catalogue path
	Arguments string `json:"arguments,omitempty"` // the first of them; none where they may hold a secret
	Outcome   string `json:"outcome"`             // [Happened] or [Failed]
	By        string `json:"by"`                  // DID
	Note      string `json:"note,omitempty"`
}

func (OutcomeNote) kind() string { return "outcome_said" }

// IsLeft reports whether an event is left between turns, for the next one, and is none of
// a turn's own.
func IsLeft(ev Event) bool {
	switch ev.(type) {
	case InboxMessage, OutcomeNote:
		return true
	}
	return false
}

// maxArguments bounds what is told anew of a call's arguments, in bytes.
const maxArguments = 500

// BriefArguments are the arguments of a call as they are told anew: the first of them, and
// none where they may hold a secret.
func (c ToolCall) BriefArguments() string {
	if c.Sealed {
		return ""
	}
	return value.Cut(c.Arguments, maxArguments)
}

// verdictText is what the person said of the call, in words.
func (ev OutcomeNote) verdictText() string {
	if ev.Outcome == Happened {
		return "it took effect"
	}
	return "it failed, and nothing of it happened"
}

// forModel is the event as the model reads it.
func (ev OutcomeNote) forModel() string {
	text := "[Of a call whose effect was unknown, the owner (" + ev.By + ") says: " + ev.verdictText() + ".]\n" + Quote(ev.Name+" "+ev.Arguments)
	if ev.Note != "" {
		text += "\n[The owner's note:]\n" + Quote(ev.Note)
	}
	return text
}

// Testify puts what a person says of a call where the next turn hears it.
func (s *Session) Testify(ctx context.Context, now time.Time, ev OutcomeNote) error {
	return s.append(ctx, now, ev)
}

// noteOutcome notes what a person said of a call that was kept as open.
func (m *memory) noteOutcome(ev OutcomeNote) {
	for i := range m.kept {
		if k := &m.kept[i]; k.Kind == keptOpen && k.Event == ev.Event {
			k.Text = ev.Name + " " + ev.Arguments + ": its effect was unknown; the owner says that " + ev.verdictText()
		}
	}
}
