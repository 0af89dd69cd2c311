package runs

import (
	"fmt"
	"time"

	"usher/caps/value"
	"usher/runtime"
	"usher/tools/fault"
)

// Head is a session in few words.
type Head struct {
	ID      string    `json:"sessionId"`
	Began   time.Time `json:"began"`
	Last    time.Time `json:"last"`    // event
	Turns   int       `json:"turns"`   // that began
	First   string    `json:"first"`   // that was said, the first 200 characters of it
	Waiting int       `json:"waiting"` // messages that the next turn hears
	Seq     uint64    `json:"seq"`     // of the last event
	From    uint64    `json:"from"`    // first event that the next request needs

	Interrupted uint64 `json:"interrupted,omitempty"` // event that says so of the last turn; left out where that came to its end
	Run         string `json:"run,omitempty"`         // whose turn has no end yet
}

// MarshalJSON writes the head: each turn stores it twice.
func (h Head) MarshalJSON() ([]byte, error) {
	w := value.NewWriter()
	w.Text("sessionId", h.ID)
	w.Time("began", h.Began)
	w.Time("last", h.Last)
	w.Int("turns", int64(h.Turns))
	w.Text("first", h.First)
	w.Int("waiting", int64(h.Waiting))
	w.Int("seq", int64(h.Seq))
	w.Int("from", int64(h.From))
	w.Count("interrupted", int64(h.Interrupted))
	w.Some("run", h.Run)
	return w.Object(), nil
}

const maxFirst = 200 // characters

// NoSession says that an agent has no session of an id.
func NoSession(agent, id string) error {
	return fault.New(fault.NotFound, fmt.Sprintf("there is no such session: agent %s has none called %q", agent, id))
}

// beginning cuts a text to what a head shows of it.
func beginning(text string) string {
	n := 0
	for i := range text {
		if n++; n > maxFirst {
			return text[:i]
		}
	}
	return text
}

// add brings the head up to an event. It reports whether the head is to be
// stored then: one that is behind by the middle of a turn is brought up to date
// by whoever opens the session.
func (h *Head) add(e *runtime.Entry) bool {
	h.Seq, h.Last = e.Seq, e.Time
	if h.Began.IsZero() {
		h.Began, h.From = e.Time, e.Seq
	}
	said := ""
	switch ev := e.Event.(type) {
	case runtime.TurnStart:
		said = ev.Text
		h.Turns++
		h.Waiting, h.Interrupted, h.Run = 0, 0, e.Run
	case runtime.InboxMessage:
		said = ev.Text
		h.Waiting++
	case runtime.OutcomeNote:
		h.Waiting++
	case runtime.Compaction:
		h.From = ev.Through + 1
	case runtime.TurnEnd:
		h.Run = ""
		if ev.Code == string(fault.Interrupted) {
			h.Interrupted = e.Seq
		}
	}
	if h.First == "" {
		h.First = beginning(said)
	}
	switch e.Event.(type) {
	case runtime.TurnStart, runtime.InboxMessage, runtime.OutcomeNote, runtime.Compaction, runtime.TurnEnd:
		return true
	}
	return false
}
