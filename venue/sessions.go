package venue

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"usher/runtime"
)

// sessionLog keeps the sessions of one agent: each event under a key of its
// own, so that a log is only ever added to.
type sessionLog struct {
	v   *Venue
	key agentKey
}

var _ runtime.Log = sessionLog{}

// Keys: "ses/<owner>/<agent>/<session>/<seq>".
func (l sessionLog) prefix(session string) string {
	return "ses/" + l.key.String() + "/" + session
}

func (l sessionLog) entryKey(session string, seq uint64) string {
	return string(binary.BigEndian.AppendUint64([]byte(l.prefix(session)+"/"), seq))
}

func (l sessionLog) Append(ctx context.Context, session string, entries ...runtime.Entry) error {
	expect := make(map[string]uint64, len(entries))
	put := make(map[string][]byte, len(entries))
	for _, e := range entries {
		raw, err := json.Marshal(e)
		if err != nil {
			return err
		}
		k := l.entryKey(session, e.Seq)
		expect[k], put[k] = 0, raw
	}
	applied, err := l.v.agents.space.Apply(ctx, expect, put, nil)
	if err == nil && !applied {
		err = fmt.Errorf("event %d is there already: another process writes this session", entries[0].Seq)
	}
	return err
}

var sessionForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// ErrNoSession says that an agent has no session of an id.
var ErrNoSession = errors.New("there is no such session")

// session returns the agent's session of the id, read from its log where it is
// not in memory; empty makes a new one. Where mustExist is set, an id without
// events is [ErrNoSession].
func (v *Venue) session(ctx context.Context, a *agent, id string, mustExist bool) (*runtime.Session, error) {
	log := sessionLog{v, a.key}
	if id == "" {
		var err error
		if id, err = v.newID(); err != nil {
			return nil, err
		}
		mustExist = false
	}
	if !sessionForm.MatchString(id) {
		return nil, fmt.Errorf("session id %q: use 1 to 64 letters, digits, '_' or '-'", id)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if s, ok := a.sessions[id]; ok {
		return s, nil
	}
	past, err := v.events(ctx, a.key, id)
	if err != nil {
		return nil, err
	}
	if len(past) == 0 && mustExist {
		return nil, fmt.Errorf("%w: agent %s has none called %q", ErrNoSession, a.key.id, id)
	}
	s := runtime.NewSession(id, log, past...)
	a.sessions[id] = s
	return s, nil
}

// events reads the log of a session.
func (v *Venue) events(ctx context.Context, key agentKey, session string) ([]runtime.Entry, error) {
	var entries []runtime.Entry
	prefix := sessionLog{v, key}.prefix(session) + "/"
	err := v.agents.space.Scan(ctx, []byte(prefix), nil, func(_, raw []byte) (bool, error) {
		var e runtime.Entry
		if err := json.Unmarshal(raw, &e); err != nil {
			return false, err
		}
		entries = append(entries, e)
		return true, nil
	})
	return entries, err
}

// eachSession calls fn for each session of an agent, seeking from one to the next.
func (v *Venue) eachSession(ctx context.Context, key agentKey, fn func(id string) error) error {
	prefix := sessionLog{v, key}.prefix("")
	start := []byte(nil)
	for {
		id := ""
		err := v.agents.space.ScanKeys(ctx, []byte(prefix), start, func(k, _ []byte) (bool, error) {
			id = string(k[len(prefix) : len(k)-9]) // "/" and the sequence number
			return false, nil
		})
		if err != nil || id == "" {
			return err
		}
		if err := fn(id); err != nil {
			return err
		}
		start = []byte(prefix + id + "0") // '0' follows '/'
	}
}

func (v *Venue) countSessions(ctx context.Context, key agentKey) (sessions, inbox int, err error) {
	err = v.eachSession(ctx, key, func(id string) error {
		sessions++
		entries, err := v.events(ctx, key, id)
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

func (v *Venue) copySessions(ctx context.Context, from, to agentKey) error {
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

func (v *Venue) removeSessions(ctx context.Context, key agentKey) error {
	if a := v.agents.known(key); a != nil {
		a.mu.Lock()
		clear(a.sessions)
		a.mu.Unlock()
	}
	return v.eachSession(ctx, key, func(id string) error {
		var keys []string
		prefix := sessionLog{v, key}.prefix(id) + "/"
		err := v.agents.space.ScanKeys(ctx, []byte(prefix), nil, func(k, _ []byte) (bool, error) {
			keys = append(keys, string(k))
			return true, nil
		})
		for err == nil && len(keys) > 0 {
			batch := keys[:min(len(keys), 1000)]
			_, err = v.agents.space.Apply(ctx, nil, nil, batch)
			keys = keys[len(batch):]
		}
		return err
	})
}
