//go:build linux

package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"time"

	"usher/runtime"
)

// lane works step by step, beside others.
type lane struct {
	*worker
	name  string
	again chan struct{} // closed when a patient child goes on
	fails int           // one after another
}

const (
	turnsOfASession = 20
	stepsOfAFolder  = 50 // what one read returns at once
	enough          = 40 // failures one after another, after which a lane gives up
)

// steps ends early where nothing is acknowledged any more. In a patient child it then waits, and
// works a few steps more.
func (l *lane) steps(ctx context.Context) {
	last, patient := l.Steps, l.Patient
	for n := 1; (last == 0 || n <= last) && ctx.Err() == nil; n++ {
		l.step(ctx, n)
		if l.fails < enough || l.Hog != nil {
			continue
		}
		if !patient {
			return
		}
		select {
		case l.stalled <- struct{}{}:
		default:
		}
		<-l.again
		patient, l.fails, last = false, 0, n+5
	}
}

// did counts failures, and slows down whoever has them.
func (l *lane) did(what string, err error) bool {
	if err == nil {
		l.fails = 0
		return true
	}
	l.fails++
	l.fail(what, err)
	time.Sleep(2 * time.Millisecond) // another try at once would fail the same way
	return false
}

func (l *lane) path(n, i int) string {
	return fmt.Sprintf("w/notes/%s-%d/%d-%d", l.name, n/stepsOfAFolder, n, i)
}

func (l *lane) note(n, i int) claim {
	h := fnv.New64a()
	path := l.path(n, i)
	_, _ = h.Write([]byte(path))
	size := 200
	switch (n + i) % 5 {
	case 1:
		size = max(l.Size, size)
	case 2:
		size = 900
	}
	return claim{Kind: noted, Path: path, Seed: h.Sum64(), Size: size}
}

// step is a turn, notes beside it, a counter, and now and then a deletion, a delegation and a
// revocation.
func (l *lane) step(over context.Context, n int) {
	ctx := context.WithoutCancel(over) // what was begun is done
	const notes = 3                    // of a turn
	l.turn(ctx, turn{n, []claim{l.note(n, 0), l.note(n, 1), l.note(n, 2)}})
	for i := range l.Bulk {
		if over.Err() != nil {
			return
		}
		c := l.note(n, notes+i)
		if l.did("write", l.write(ctx, c.Path, noteText(c.Seed, c.Size))) {
			l.say(c)
		}
	}
	at := "w/notes/" + l.name + "-count/n"
	if l.did("count", l.write(ctx, at, n)) {
		l.say(claim{Kind: counted, Path: at, N: n})
	}
	if n%5 == 0 {
		l.remove(ctx, l.path(n-2, 1))
	}
	if n%4 == 1 {
		l.delegate(ctx, n)
	}
}

func (l *lane) write(ctx context.Context, path string, value any) error {
	_, err := l.me.Invoke(ctx, "covia:write", map[string]any{"path": path, "value": value})
	return err
}

func (l *lane) remove(ctx context.Context, path string) {
	if !l.say(claim{Kind: toDelete, Path: path}) {
		return
	}
	_, err := l.me.Invoke(ctx, "covia:delete", map[string]string{"path": path})
	if l.did("delete", err) {
		l.say(claim{Kind: deleted, Path: path})
	}
}

// turn has the agent write, and says what it was told on the way.
func (l *lane) turn(ctx context.Context, said turn) {
	session := fmt.Sprintf("%s_%d", l.name, said.N/turnsOfASession)
	byPath := make(map[string]claim, len(said.Notes))
	for _, c := range said.Notes {
		byPath[c.Path] = c
	}
	for ev, err := range l.scribe.ChatIn(ctx, session, string(mustJSON(said))) {
		if err != nil {
			l.did("turn", err)
			return
		}
		switch ev := ev.(type) {
		case runtime.ToolEnd:
			if c, known := byPath[ev.CallID]; known && ev.Outcome == runtime.ToolOK {
				l.say(c)
			} else {
				l.fail("call", fmt.Errorf("%s: %s", ev.Outcome, ev.Result))
			}
		case runtime.TurnEnd:
			if ev.Error == "" {
				l.fails = 0
				l.say(claim{Kind: turned, Session: session, N: said.N})
			}
		}
	}
}

// delegate has bob read a path. Most of the tokens are revoked again.
func (l *lane) delegate(ctx context.Context, n int) {
	path := fmt.Sprintf("w/shared/%s/%d", l.name, n)
	if !l.did("share", l.write(ctx, path, n)) {
		return
	}
	out, err := l.me.Invoke(ctx, "ucan:delegate", map[string]any{
		"audience": l.bob.DID(), "ttl": "20h", "capabilities": []map[string]string{{"with": path, "can": "crud/read"}},
	})
	var made struct{ Tokens []struct{ CID, Token string } }
	if err == nil {
		err = json.Unmarshal(out, &made)
	}
	if !l.did("delegate", err) {
		return
	}
	c := claim{Path: path, CID: made.Tokens[0].CID, Token: made.Tokens[0].Token}
	if n%12 == 1 && l.Skew == 0 { // by another clock it would have ended
		c.Kind = granted
		l.say(c)
		return
	}
	_, err = l.me.Invoke(ctx, "ucan:revoke", map[string]string{"cid": c.CID})
	if l.did("revoke", err) {
		c.Kind = revoked
		l.say(c)
	}
}
