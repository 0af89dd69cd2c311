package care

import (
	"bytes"
	"context"
	"strings"

	"usher/venue/agents"
	"usher/venue/approvals"
	"usher/venue/auth"
	"usher/venue/lending"
	"usher/venue/store"
	"usher/venue/store/journal"
	"usher/venue/visitors"
)

// later is what holds of a state whatever moment before it a folder is taken back to.
type later struct {
	rows   map[string][]byte // that stay as they are
	agents map[string][]byte // their records
	tokens map[string][]byte // of the venue: their records
	used   map[string][]byte // approvals of calls of no run, which would end with it
	rooms  []map[string][]byte
}

// rooms say themselves what holds of their rows, then and now.
var rooms = []struct {
	rows []string // below these keys
	held func(then, now map[string][]byte) (put map[string][]byte, del []string, err error)
}{{visitors.Rows, visitors.Held}, {[]string{lending.Rows}, lending.Held}}

// Where what stays lies: revocations, of tokens that are stored and of others, their feed, marks
// of used invocations and of bearer tokens that work once, and of webhooks, whose keys are
// forgotten, which passkeys people have, and the highest time seen.
var staying = []string{"t/v/", "t/u/", "t/f/", "t/n/", "i/once/", "i/used/", "h/in/", "h/at/", "k/gone/", "visit/passkey/", "v/clock"}

const agentRows, agentKeys, tokenRows, approvalRows = "g/rec/", "k/agent/", "i/tok/", "p/req/"

// sessionRows are of people who had signed in, whoever has signed out since: none stays.
const sessionRows = "i/ses/"

func laterOf(ctx context.Context, j *journal.Journal) (*later, error) {
	l := &later{rows: make(map[string][]byte), agents: make(map[string][]byte), tokens: make(map[string][]byte), used: make(map[string][]byte)}
	for _, prefix := range staying {
		if err := collect(ctx, j, prefix, l.rows); err != nil {
			return nil, err
		}
	}
	for _, room := range rooms {
		now, err := rowsBelow(ctx, j, room.rows)
		if err != nil {
			return nil, err
		}
		l.rooms = append(l.rooms, now)
	}
	if err := collect(ctx, j, agentRows, l.agents); err != nil {
		return nil, err
	}
	if err := collect(ctx, j, tokenRows, l.tokens); err != nil {
		return nil, err
	}
	for row, err := range store.Rows(ctx, j, approvalRows, "") {
		used := false
		if err == nil {
			used, err = approvals.UsedAlone(row.Value)
		}
		if err != nil {
			return nil, err
		}
		if used {
			l.used[row.Key] = row.Value
		}
	}
	return l, nil
}

// rowsBelow are the rows below some keys.
func rowsBelow(ctx context.Context, j *journal.Journal, keys []string) (map[string][]byte, error) {
	rows := make(map[string][]byte)
	for _, key := range keys {
		if err := collect(ctx, j, key, rows); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func collect(ctx context.Context, j *journal.Journal, prefix string, into map[string][]byte) error {
	for row, err := range store.Rows(ctx, j, prefix, "") {
		if err != nil {
			return err
		}
		into[row.Key] = row.Value
	}
	return nil
}

// hold writes what stays into the state of the past, and returns how many records that
// changed.
func (l *later) hold(ctx context.Context, j *journal.Journal) (changed int, err error) {
	put, del := make(map[string][]byte), []string(nil)
	size := 0
	flush := func() error {
		_, err := j.Apply(ctx, nil, put, del)
		clear(put)
		del, size = nil, 0
		return err
	}
	write := func(key string, value []byte) error {
		if size += len(key) + len(value); size > store.MaxApplyBytes/2 || len(put) >= store.MaxApplyKeys/2 {
			if err := flush(); err != nil {
				return err
			}
		}
		changed++
		put[key] = value
		return nil
	}
	for key, value := range l.rows {
		was, rev, err := j.Get(ctx, key)
		if err == nil && (rev == 0 || !bytes.Equal(was, value)) { // a mark has no value
			err = write(key, value)
		}
		if err != nil {
			return changed, err
		}
	}
	for key, value := range l.used {
		was, rev, err := j.Get(ctx, key)
		if err == nil && rev != 0 && !bytes.Equal(was, value) {
			err = write(key, value)
		}
		if err != nil {
			return changed, err
		}
	}
	remove := func(key string) error {
		if changed++; len(del) >= store.MaxApplyKeys/2 {
			if err := flush(); err != nil {
				return err
			}
		}
		del = append(del, key)
		return nil
	}
	if err := l.holdTokens(ctx, j, remove); err != nil {
		return changed, err
	}
	for i, room := range rooms {
		then, err := rowsBelow(ctx, j, room.rows)
		if err != nil {
			return changed, err
		}
		stays, goes, err := room.held(then, l.rooms[i])
		for key, value := range stays {
			if err == nil && !bytes.Equal(then[key], value) {
				err = write(key, value)
			}
		}
		for _, key := range goes {
			if err == nil {
				err = remove(key)
			}
		}
		if err != nil {
			return changed, err
		}
	}
	sessions := make(map[string][]byte)
	if err := collect(ctx, j, sessionRows, sessions); err != nil {
		return changed, err
	}
	for key := range sessions {
		if err := remove(key); err != nil {
			return changed, err
		}
	}
	then := make(map[string][]byte)
	if err := collect(ctx, j, agentRows, then); err != nil {
		return changed, err
	}
	for key, was := range then {
		ended, life, err := agents.Ends(strings.TrimPrefix(key, "g/"), was, l.agents[key])
		if err == nil && ended != nil {
			del = append(del, agentKeys+string(life))
			err = write(key, ended)
		}
		if err != nil {
			return changed, err
		}
	}
	return changed, flush()
}

// holdTokens removes the tokens of the venue that were revoked since.
func (l *later) holdTokens(ctx context.Context, j *journal.Journal, remove func(key string) error) error {
	then := make(map[string][]byte)
	if err := collect(ctx, j, tokenRows, then); err != nil {
		return err
	}
	for key, was := range then {
		revoked, err := auth.Revoked(was, l.tokens[key])
		if err == nil && revoked {
			err = remove(key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
