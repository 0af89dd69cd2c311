package agents

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/oklog/ulid/v2"

	"usher/runtime"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/fault"
	"usher/venue/accounts"
	"usher/venue/runs"
)

const sessionSigns = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

// checkSession says what is wrong with the id of a session: a name, behind the id
// of the agent that opened it and "~" where one did.
func checkSession(id string) error {
	opener, name, named := strings.Cut(id, "~")
	if !named {
		name = id
	}
	if len(name) > 0 && len(name) <= 64 && strings.Trim(name, sessionSigns) == "" && (!named || agents.CheckID(strings.TrimPrefix(opener, agents.VisitorMark)) == nil) {
		return nil
	}
	return fault.New(fault.InvalidInput, fmt.Sprintf("session id %.100q: use 1 to 64 letters, digits, '_' or '-'", id))
}

// sessionName is the id of a session as a caller means it. An agent talks in
// sessions of its own, "<agent>~<id>", and reaches no others; the owner in
// person reaches all.
func sessionName(agent, actor, id string) (string, error) {
	if actor == "" {
		return id, nil
	}
	opener, _, named := strings.Cut(id, "~")
	if !named {
		return actor + "~" + id, nil
	}
	if opener != actor {
		return "", fmt.Errorf("%w, for you", runs.NoSession(agent, id))
	}
	return id, nil
}

// session returns the agent's session of the id for the caller, and a function
// to call when done with it. An empty id makes a new session. Where mustExist is
// set, an id without events is [runs.NoSession].
func (r *Room) session(ctx context.Context, of tools.Life, actor, id string, mustExist bool) (s *runs.Session, release func(), err error) {
	if id == "" {
		if id, err = r.NewID(); err != nil {
			return nil, nil, err
		}
		mustExist = false
	}
	if id, err = sessionName(of.Agent(), actor, id); err != nil {
		return nil, nil, err
	}
	if err := checkSession(id); err != nil {
		return nil, nil, err
	}
	return r.Runs.Sessions().Open(ctx, of, id, mustExist)
}

// ForgetSession forgets what a session that is gone has spent, where the venue named
// it: nobody comes back to that. Under a name that somebody chose, what is spent
// stays spent, and its budget goes on.
func (r *Room) ForgetSession(ctx context.Context, of tools.Life, id string) error {
	_, name, named := strings.Cut(id, "~")
	if !named {
		name = id
	}
	if !isMade(name) {
		return nil
	}
	account, k := of, keyOf(of)
	_, rec, err := r.Book.get(ctx, k)
	if err == nil && rec != nil && rec.life(k) == of {
		account = rec.account(k)
	}
	if err != nil {
		return err
	}
	return r.Accounts.RemoveSession(ctx, accounts.Of(account, id))
}

// isMade reports whether the venue made a name, and nobody chose it.
func isMade(name string) bool {
	_, err := ulid.ParseStrict(name)
	return err == nil
}

// life names the agent's present life.
func (a *Agent) life(ctx context.Context) (tools.Life, error) {
	_, rec, err := a.find(ctx)
	if err != nil {
		return "", err
	}
	return rec.life(a.key), nil
}

// Sessions lists the agent's sessions, the one of the latest event first: like
// [Agent.History] for the owner in person, and all of them.
func (a *Agent) Sessions(ctx context.Context) ([]runs.Head, error) {
	of, err := a.life(ctx)
	if err != nil {
		return nil, err
	}
	list := []runs.Head{}
	for h, err := range a.room.Runs.Sessions().Heads(ctx, of) {
		if err != nil {
			return nil, err
		}
		list = append(list, h)
	}
	slices.SortStableFunc(list, func(x, y runs.Head) int { return y.Last.Compare(x.Last) })
	return list, nil
}

// SessionPage returns at most limit of the sessions that [Agent.Sessions] lists, the last by
// their ids first, before an id if that is given; more is where the next page begins.
func (a *Agent) SessionPage(ctx context.Context, before string, limit int) (list []runs.Head, more string, err error) {
	if before != "" {
		if err := checkSession(before); err != nil {
			return nil, "", err
		}
	}
	of, err := a.life(ctx)
	if err != nil {
		return nil, "", err
	}
	return a.room.Runs.Sessions().Page(ctx, of, before, limit)
}

// Interruption returns how the last turn of a session was cut, or nil where it came to
// its end: [Agent.History] has it, too.
func (a *Agent) Interruption(ctx context.Context, session string) (*runtime.TurnEnd, error) {
	of, err := a.life(ctx)
	if err != nil {
		return nil, err
	}
	return a.room.Runs.Sessions().Interruption(ctx, of, session)
}

// History yields what happened in a session of the agent, oldest first: the
// session's log, as it is when the loop comes to it. A session that is not there
// has none. It is for the owner in person, who may read every session of an
// agent of theirs, those with other agents ("<agent>~<id>") included.
func (a *Agent) History(ctx context.Context, session string) iter.Seq2[runtime.Entry, error] {
	return a.HistoryAfter(ctx, session, 0)
}

// HistoryAfter is [Agent.History] behind the event of a number.
func (a *Agent) HistoryAfter(ctx context.Context, session string, after uint64) iter.Seq2[runtime.Entry, error] {
	return func(yield func(runtime.Entry, error) bool) {
		if session == "" {
			return
		}
		if err := checkSession(session); err != nil {
			yield(runtime.Entry{}, err)
			return
		}
		of, err := a.life(ctx)
		if err != nil {
			yield(runtime.Entry{}, err)
			return
		}
		a.room.Runs.Sessions().Entries(ctx, of, session, after+1)(yield)
	}
}
