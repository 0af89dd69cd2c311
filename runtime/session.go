package runtime

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"usher/tools"
	"usher/tools/fault"
)

// Log keeps the events of sessions. What Append has returned nil for is kept, unless
// the log is a [Flusher]. The slice of entries is the session's again when Append
// returns.
type Log interface {
	Append(ctx context.Context, session string, entries ...Entry) error
}

// Flusher is a [Log] that may let events wait for what belongs to them. Flush
// returns when all that was appended is kept; it is called before each model call.
type Flusher interface {
	Flush(ctx context.Context) error
}

// flush has the log keep what waits.
func (s *Session) flush(ctx context.Context) error {
	if f, ok := s.log.(Flusher); ok {
		if err := f.Flush(ctx); err != nil {
			return fmt.Errorf("write session log: %w", err)
		}
	}
	return nil
}

// Session is one conversation with an agent: an append-only log of events and
// the messages that follow from it. One turn runs at a time.
type Session struct {
	id   string
	log  Log
	turn chan struct{} // holds one while a turn runs, or rests

	mu       sync.Mutex // guards what follows
	seq      uint64
	entries  []Entry // that are appended
	messages []Message
	origin   []uint64 // of each message: the event that it comes of
	weights  []int    // of each message: see [weight]
	weight   int      // of all of them
	open     []owed
	tools    []Tool // of whoever talks, in the last turn
	unended  bool   // a turn began and has not ended
	run      string // of the last turn, as the log says
	rest     rest
	spent    progress // of the turn
	as       Entry    // run, agent and parent of the last turn of the past
	heard    []string // left for the next turn
	memory   memory
	measured measure
	summed   bool // the first message is a summary

	begun struct { // room for a short conversation
		messages [4]Message
		origin   [4]uint64
		weights  [4]int
	}
}

// NewSession returns the session with the given log entries as its past. A nil
// log keeps it in memory.
func NewSession(id string, log Log, past ...Entry) *Session {
	s := &Session{id: id, log: log, turn: make(chan struct{}, 1)}
	s.messages, s.origin, s.weights = s.begun.messages[:0], s.begun.origin[:0], s.begun.weights[:0]
	for _, e := range past {
		s.seq = e.Seq
		s.apply(e.Seq, e.Event)
		if e.Run != "" {
			s.as = Entry{Run: e.Run, Agent: e.Agent, Parent: e.Parent}
			s.run = e.Run
		}
	}
	if s.unended {
		s.turn <- struct{}{}
		s.rest.rests = true
	}
	return s
}

// ID names the session.
func (s *Session) ID() string { return s.id }

// conversation returns the conversation so far, with an estimate of its tokens. It must not
// be changed.
func (s *Session) conversation() (messages []Message, tokens int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.messages[:len(s.messages):len(s.messages)], whole(s.weight)
}

// secret reports whether a secret went through the conversation.
func (s *Session) secret() bool {
	said, _ := s.conversation()
	return slices.ContainsFunc(said, func(m Message) bool { return m.Sealed })
}

// maxInbox bounds the messages that wait for a session's next turn.
const maxInbox = 64

// errInbox: as many messages wait in the session as may.
var errInbox = fmt.Errorf("%d messages wait for the agent's next turn, as many as may", maxInbox)

// Leave puts a message where the next turn hears it. It starts nothing.
func (s *Session) Leave(ctx context.Context, now time.Time, msg InboxMessage) error {
	s.mu.Lock()
	waiting := len(s.heard)
	s.mu.Unlock()
	if waiting >= maxInbox {
		return errInbox
	}
	return s.append(ctx, now, msg)
}

// Inbox is the number of messages that the next turn hears.
func (s *Session) Inbox() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.heard)
}

// append writes events to the log and then to the conversation.
func (s *Session) append(ctx context.Context, now time.Time, events ...Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.log != nil {
		s.entries = s.entries[:0]
		for i, ev := range events {
			e := Entry{Seq: s.seq + uint64(i) + 1, Time: now, Event: ev}
			if !IsLeft(ev) {
				e.Run, e.Agent, e.Parent = s.as.Run, s.as.Agent, s.as.Parent
			}
			s.entries = append(s.entries, e.discreet())
		}
		err := s.log.Append(ctx, s.id, s.entries...)
		if run := s.entries[0].Run; run != "" {
			s.run = run
		}
		clear(s.entries)
		if err != nil {
			return fmt.Errorf("write session log: %w", err)
		}
	}
	for _, ev := range events {
		s.seq++
		s.apply(s.seq, ev)
	}
	return nil
}

// apply is the one place that says what an event means for the conversation.
func (s *Session) apply(seq uint64, ev Event) {
	switch ev := ev.(type) {
	case TurnStart:
		s.begin(seq, ev)
	case ModelAnswer:
		s.spent.calls++
		s.spent.usage = s.spent.usage.Plus(ev.Usage)
		if ev.Text != "" || len(ev.Calls) > 0 {
			s.say(seq, Message{Role: RoleAssistant, Text: ev.Text, Calls: ev.Calls, Reasoning: ev.Reasoning})
		}
		s.open = slices.Grow(s.open[:0], len(ev.Calls))
		for i, call := range ev.Calls {
			s.open = append(s.open, owed{ToolCall: call, at: tools.At{Event: seq, N: i + 1}})
		}
		s.measured = measure{tokens: ev.Usage.Input + ev.Usage.Output, messages: len(s.messages)}
	case ToolStart:
		s.spent.began++
		s.begins(ev)
	case ToolEnd:
		s.say(seq, Message{Role: RoleTool, CallID: ev.CallID, Name: ev.Name, Text: ev.Result, Failed: ev.Outcome != ToolOK, Sealed: ev.Sealed})
		for i, call := range s.open {
			if call.ID == ev.CallID {
				s.memory.noteCall(seq, call.ToolCall, ev)
				s.open = append(s.open[:i], s.open[i+1:]...)
				break
			}
		}
	case OutputRejection:
		s.spent.rejected = ev.Try
		s.say(seq, Message{Role: RoleUser, Text: "Your answer does not fit the required JSON Schema: " + ev.Reason +
			"\nAnswer again, with one JSON value that fits it and nothing else."})
	case TurnRest:
		if ev.Spent != nil {
			s.spent.metered = *ev.Spent
		}
		for _, w := range ev.Waits {
			s.waits(w.CallID)
		}
	case InboxMessage:
		s.heard = append(s.heard, "[Message from: "+ev.From+"]\n"+Quote(ev.Text))
	case OutcomeNote:
		s.heard = append(s.heard, ev.forModel())
		s.memory.noteOutcome(ev)
	case Compaction:
		s.spent.calls += ev.Calls
		s.spent.usage = s.spent.usage.Plus(ev.Usage)
		s.shorten(ev)
	case TurnEnd:
		s.unended = false
		s.noteAsks(ev.Pending)
		s.memory.finish(ev)
		if ev.Code == string(fault.Interrupted) {
			s.say(seq, Message{Role: RoleUser, Text: "[The turn above was not finished. It was " + ev.Error + "]"})
		}
	}
}

// begin opens a turn. A log that a crash cut short has calls without results;
// providers refuse such a conversation, and the model must know.
func (s *Session) begin(seq uint64, ev TurnStart) {
	for len(s.open) > 0 {
		s.apply(seq, s.open[0].result(ev.Answers))
	}
	s.unended, s.spent, s.tools = true, progress{}, ev.Tools
	for _, text := range s.heard {
		s.say(seq, Message{Role: RoleUser, Text: text})
	}
	s.heard = nil
	said := opening(ev)
	if said != "" {
		s.say(seq, Message{Role: RoleUser, Text: said})
	}
	s.memory.begin(seq, said)
}

// opening is what starts a turn, with who says it where that is not the owner
// in person: a model must not take another agent's word for the owner's.
func opening(ev TurnStart) string {
	if ev.From == "" || ev.Text == "" && len(ev.Answers) > 0 || strings.HasPrefix(ev.From, "did:") {
		return ev.Text
	}
	return TaskFrom + ev.From + "]\n" + ev.Text
}

// TaskFrom begins the first line of what another agent asks; its id and "]" follow.
const TaskFrom = "[Task from: "

// lineEnds are all that may begin a new line for whoever reads.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// Quote marks every line as somebody's words.
func Quote(text string) string {
	return "> " + strings.ReplaceAll(lineEnds.Replace(text), "\n", "\n> ")
}

func (s *Session) say(seq uint64, m Message) {
	n := weight(&m)
	s.messages = append(s.messages, m)
	s.origin = append(s.origin, seq)
	s.weights, s.weight = append(s.weights, n), s.weight+n
}
