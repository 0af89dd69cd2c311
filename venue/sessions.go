package venue

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"usher/runtime"
	"usher/tools/fault"
	"usher/venue/store"
)

// sessionLog keeps the sessions of one life of an agent: each event under a
// key of its own, so that a log is only ever added to.
type sessionLog struct {
	v  *Venue
	of bound
}

var _ runtime.Log = sessionLog{}

// Keys: "ses/<owner>/<agent>#<life>/<session>/<seq>".
func (l sessionLog) prefix(session string) string { return "ses/" + l.of.String() + "/" + session }

func (l sessionLog) entryKey(session string, seq uint64) string {
	return string(binary.BigEndian.AppendUint64([]byte(l.prefix(session)+"/"), seq))
}

func (l sessionLog) Append(ctx context.Context, session string, entries ...runtime.Entry) error {
	expect := make(map[string]uint64, len(entries))
	put := make(map[string][]byte, len(entries)+2)
	for _, e := range entries {
		raw, err := json.Marshal(e)
		if err != nil {
			return err
		}
		k := l.entryKey(session, e.Seq)
		expect[k], put[k] = 0, raw
	}
	spending := l.v.accounts.draft(ctx, put, nil)
	moved, err := l.v.agents.space.Apply(ctx, expect, put, nil)
	l.v.accounts.written(ctx, spending, err == nil && moved == "")
	if err == nil && moved != "" {
		err = fmt.Errorf("event %d is there already: another process writes this session", entries[0].Seq)
	}
	return err
}

var sessionForm = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9_.-]{0,63}~)?[A-Za-z0-9_-]{1,64}$`)

func badSession(id string) error {
	return fmt.Errorf("session id %.100q: use 1 to 64 letters, digits, '_' or '-'", id)
}

// ErrNoSession says that an agent has no session of an id, for this caller.
var ErrNoSession = fault.New(fault.NotFound, "there is no such session")

// sessionName is the id of a session as a caller means it. An agent talks in
// sessions of its own, "<agent>~<id>", and reaches no others; the owner in
// person reaches all.
func sessionName(actor, id string) (string, error) {
	if actor == "" {
		return id, nil
	}
	opener, _, named := strings.Cut(id, "~")
	if !named {
		return actor + "~" + id, nil
	}
	if opener != actor {
		return "", fmt.Errorf("%w: %q is not yours", ErrNoSession, id)
	}
	return id, nil
}

// openSession is a session in memory, with those who use it counted: a session
// that nobody uses is read from its log again.
type openSession struct {
	*runtime.Session
	users int
}

// session returns the agent's session of the id for the caller, and a function
// to call when done with it. An empty id makes a new session. Where mustExist
// is set, an id without events is [ErrNoSession].
func (v *Venue) session(ctx context.Context, a *agent, life, actor, id string, mustExist bool) (s *runtime.Session, release func(), err error) {
	if id == "" {
		if id, err = v.newID(); err != nil {
			return nil, nil, err
		}
		mustExist = false
	}
	if id, err = sessionName(actor, id); err != nil {
		return nil, nil, err
	}
	if !sessionForm.MatchString(id) {
		return nil, nil, badSession(id)
	}
	log := sessionLog{v, bound{a.key, life}}
	place := log.prefix(id)
	a.mu.Lock()
	defer a.mu.Unlock()
	open, ok := a.sessions[place]
	if !ok {
		past, err := v.events(ctx, log.of, id)
		if err != nil {
			return nil, nil, err
		}
		if len(past) == 0 && mustExist {
			return nil, nil, fmt.Errorf("%w: agent %s has none called %q", ErrNoSession, a.key.id, id)
		}
		open = &openSession{Session: runtime.NewSession(id, log, past...)}
		a.sessions[place] = open
	}
	open.users++
	return open.Session, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if open.users--; open.users == 0 {
			delete(a.sessions, place)
		}
	}, nil
}

// events reads the log of a session.
func (v *Venue) events(ctx context.Context, of bound, session string) ([]runtime.Entry, error) {
	var entries []runtime.Entry
	prefix := sessionLog{v, of}.prefix(session) + "/"
	for row, err := range store.Rows(ctx, v.agents.space, prefix, "") {
		if err != nil {
			return nil, err
		}
		var e runtime.Entry
		if err := json.Unmarshal(row.Value, &e); err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// eachSession calls fn for each session of an agent, seeking from one to the next.
func (v *Venue) eachSession(ctx context.Context, of bound, fn func(id string) error) error {
	prefix := sessionLog{v, of}.prefix("")
	start := ""
	for {
		keys, _, err := v.agents.space.PageKeys(ctx, prefix, start, 1)
		if err != nil || len(keys) == 0 {
			return err
		}
		id := keys[0][len(prefix) : len(keys[0])-9] // "/" and the sequence number
		if err := fn(id); err != nil {
			return err
		}
		start = prefix + id + "0" // '0' follows '/'
	}
}

func (v *Venue) countSessions(ctx context.Context, of bound) (sessions, inbox int, err error) {
	err = v.eachSession(ctx, of, func(id string) error {
		sessions++
		entries, err := v.events(ctx, of, id)
		if err != nil {
			return err
		}
		for i := len(entries) - 1; i >= 0; i-- {
			switch entries[i].Event.(type) {
			case runtime.Received:
				inbox++
			case runtime.TurnStarted:
				return nil
			}
		}
		return nil
	})
	return sessions, inbox, err
}

func (v *Venue) copySessions(ctx context.Context, from, to bound) error {
	return v.eachSession(ctx, from, func(id string) error {
		entries, err := v.events(ctx, from, id)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := (sessionLog{v, to}).Append(ctx, id, e); err != nil {
				return err
			}
		}
		return nil
	})
}

// removeSessions removes the sessions of one life of an agent. A turn that
// still runs then writes where nobody looks.
func (v *Venue) removeSessions(ctx context.Context, of bound) error {
	return v.eachSession(ctx, of, func(id string) error {
		prefix := sessionLog{v, of}.prefix(id) + "/"
		for next := ""; ; {
			var keys []string
			var err error
			if keys, next, err = v.agents.space.PageKeys(ctx, prefix, next, 1000); err != nil {
				return err
			}
			if _, err := v.agents.space.Apply(ctx, nil, nil, keys); err != nil || next == "" {
				return err
			}
		}
	})
}
