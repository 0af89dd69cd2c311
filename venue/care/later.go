package care

import (
	"bytes"
	"context"
	"strings"

	"usher/venue/agents"
	"usher/venue/approvals"
	"usher/venue/auth"
	"usher/venue/lending"
	"usher/venue/schedules"
	"usher/venue/store"
	"usher/venue/store/journal"
	"usher/venue/visitors"
)

const agentRows, agentKeys = "g/rec/", "k/agent/"

// laterRooms say what of a state holds whatever moment before it a folder is taken back to, by
// their rows then and now.
var laterRooms = []struct {
	rows []string // below these keys
	held func(then, now map[string][]byte) (put map[string][]byte, del []string, err error)
}{
	// Revocations, of tokens that are stored and of others, their feed, marks of used invocations and
	// of bearer tokens that work once, and of webhooks, whose keys are forgotten, which passkeys people
	// have, and the highest time seen.
	{[]string{"t/v/", "t/u/", "t/f/", "t/n/", "i/once/", "i/used/", "h/in/", "h/at/", "k/gone/", "visit/passkey/", "v/clock"}, stays},
	{[]string{"p/req/"}, usedAlone},
	{[]string{"i/tok/"}, tokens},
	{visitors.Rows, visitors.CarryOver},
	{[]string{lending.Rows}, lending.CarryOver},
	{[]string{schedules.Rows}, schedules.CarryOver},
	// Of people who had signed in, whoever has signed out since: none stays.
	{[]string{"i/ses/"}, goes},
	// What servers of MCP have granted, whoever has signed out there since, and the addresses that are
	// told of tasks, whoever has taken theirs back.
	{[]string{"mcp-login/", "h/push/"}, asNow},
	{[]string{agentRows}, lives},
}

// stays has what is there now stay, beside what was there then.
func stays(_, now map[string][]byte) (put map[string][]byte, del []string, err error) {
	return now, nil, nil
}

// goes has nothing stay.
func goes(then, _ map[string][]byte) (put map[string][]byte, del []string, err error) {
	for key := range then {
		del = append(del, key)
	}
	return nil, del, nil
}

// asNow has nothing stay but what is there now.
func asNow(then, now map[string][]byte) (put map[string][]byte, del []string, err error) {
	for key := range then {
		if _, is := now[key]; !is {
			del = append(del, key)
		}
	}
	return now, del, nil
}

// usedAlone has approvals of calls of no run stay used, which would end with it.
func usedAlone(then, now map[string][]byte) (put map[string][]byte, del []string, err error) {
	put = make(map[string][]byte)
	for key, is := range now {
		used, err := approvals.UsedAlone(is)
		if err != nil {
			return nil, nil, err
		}
		if _, was := then[key]; was && used {
			put[key] = is
		}
	}
	return put, nil, nil
}

// tokens has those of the venue go that were revoked since.
func tokens(then, now map[string][]byte) (put map[string][]byte, del []string, err error) {
	for key, was := range then {
		revoked, err := auth.IsRevoked(was, now[key])
		if err != nil {
			return nil, nil, err
		}
		if revoked {
			del = append(del, key)
		}
	}
	return nil, del, nil
}

// lives has agents stay ended that have ended since, and their keys forgotten, and suspended
// that were suspended.
func lives(then, now map[string][]byte) (put map[string][]byte, del []string, err error) {
	put = make(map[string][]byte)
	for key, was := range then {
		must, ended, err := agents.CarryOver(strings.TrimPrefix(key, "g/"), was, now[key])
		if err != nil {
			return nil, nil, err
		}
		if must != nil {
			put[key] = must
		}
		if ended != "" {
			del = append(del, agentKeys+string(ended))
		}
	}
	return put, del, nil
}

// later is what the rows of each of the [laterRooms] are now.
type later []map[string][]byte

func laterOf(ctx context.Context, j *journal.Journal) (l later, err error) {
	for _, room := range laterRooms {
		now, err := rowsBelow(ctx, j, room.rows)
		if err != nil {
			return nil, err
		}
		l = append(l, now)
	}
	return l, nil
}

func rowsBelow(ctx context.Context, j *journal.Journal, keys []string) (map[string][]byte, error) {
	rows := make(map[string][]byte)
	for _, key := range keys {
		for row, err := range store.Rows(ctx, j, key, "") {
			if err != nil {
				return nil, err
			}
			rows[row.Key] = row.Value
		}
	}
	return rows, nil
}

// hold writes what stays into the state of the past, and returns how many records that
// changed.
func (l later) hold(ctx context.Context, j *journal.Journal) (changed int, err error) {
	w := store.NewWriter(&j.Space)
	for i, room := range laterRooms {
		then, err := rowsBelow(ctx, j, room.rows)
		if err != nil {
			return changed, err
		}
		put, del, err := room.held(then, l[i])
		if err != nil {
			return changed, err
		}
		for key, value := range put {
			if was, is := then[key]; is && bytes.Equal(was, value) { // a mark has no value
				continue
			}
			changed++
			if err := w.Put(ctx, key, value); err != nil {
				return changed, err
			}
		}
		for _, key := range del {
			if _, was := then[key]; was {
				changed++
			}
			if err := w.Delete(ctx, key); err != nil {
				return changed, err
			}
		}
	}
	return changed, w.Flush(ctx)
}
