package visitors

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"usher/caps/value"
	"usher/ucan"
	"usher/venue/ledger"
)

// Call is a request that changed nothing, and what became of it.
type Call struct {
	Name       string
	By         *Caller  // nil where no host or agent has signed
	Person     ucan.DID // who has signed in, where one has
	Capability string
	Item       string // of a batch
	Failed     error  // nil for what was done
}

// Record writes a row of a request. Of what is refused to strangers, and to who comes too
// often or with a JWT that was seen before, the first of each kind has a row, and all others
// of a minute have one together: see [Room.Run].
func (r *Room) Record(ctx context.Context, c Call) error {
	what := c.By.row(c.Name)
	what.Capability, what.Item, what.Result = value.Cut(c.Capability, maxName), c.Item, codeOf(c.Failed).Name
	if !c.Person.IsZero() {
		what.User = c.Person.String()
	}
	if c.Failed == nil {
		return r.note(ctx, what)
	}
	if what.Refused, what.Detail = true, value.Cut(reason(c.Failed), maxReason); !r.refused.hasRow(&c, &what) {
		return nil
	}
	return r.note(ctx, what)
}

// maxReason is how many bytes a row has of why somebody was refused.
const maxReason = 200

// reason is why somebody was refused, as they are told it.
func reason(err error) string {
	if of, ok := errors.AsType[*Refusal](err); ok {
		return of.Message
	}
	return ""
}

// ReadRefusal reads a row of the ledger: whom Agent-Auth refused what, and why. It is false of rows
// that say something else.
func ReadRefusal(of *ledger.Row) (who, what, why string, ok bool) {
	var said row
	if of.Note != note || json.Unmarshal(of.Detail, &said) != nil || !said.Refused {
		return "", "", "", false
	}
	what, why = said.Call, said.Result
	if said.Capability != "" {
		what += " " + said.Capability
	}
	if said.Detail != "" {
		why += ": " + said.Detail
	}
	return cmp.Or(said.Agent, said.Host, said.User), what, why, true
}

func (r *Room) note(ctx context.Context, what row) error {
	_, err := r.Ledger.Note(context.WithoutCancel(ctx), note, what, ledger.Batch{})
	return err
}

// Run writes each minute how often strangers were refused, until ctx ends.
func (r *Room) Run(ctx context.Context) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			r.noteRefusals(ctx)
			return
		case <-tick.C:
			r.noteRefusals(ctx)
		}
	}
}

func (r *Room) noteRefusals(ctx context.Context) {
	what := r.refused.take()
	if what.Count == 0 {
		return
	}
	if err := r.note(ctx, what); err != nil {
		r.Logger.ErrorContext(ctx, "refusals by Agent-Auth are not in the audit ledger", "count", what.Count, "detail", what.Detail, "error", err)
	}
}

// maxNamed is how many refusals a minute of one class have rows: of strangers, and of those
// for whom a person answers. Neither takes the rows of the other.
const maxNamed = 16

// refusals counts those of a minute that have no rows of their own.
type refusals struct {
	mu    sync.Mutex
	named [2]map[string]bool // that have rows, by class
	codes map[string]int
}

// hasRow counts a refusal, or reports that it has a row of its own.
func (f *refusals) hasRow(c *Call, what *row) bool {
	often := what.Result == RateLimited.Name || what.Result == slowDown.Name
	switch {
	case !c.Person.IsZero() && !often:
		return what.Result != InvalidUserCode.Name // which has one, with what it counts
	case c.By.isSomebodys() && c.By.fresh && !often:
		return true
	}
	class := 0
	if !c.Person.IsZero() || c.By.isSomebodys() {
		class = 1
	}
	who := strings.Join([]string{what.Host, what.Agent, what.User, what.Result}, " ")
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.named[class][who] && len(f.named[class]) < maxNamed {
		if f.named[class] == nil {
			f.named[class] = make(map[string]bool, maxNamed)
		}
		f.named[class][who] = true
		return true
	}
	if f.codes == nil {
		f.codes = make(map[string]int)
	}
	f.codes[what.Result]++ // codes are of the code, and few
	return false
}

// isSomebodys reports whether a person answers for who has signed.
func (c *Caller) isSomebodys() bool {
	return c != nil && c.Host != nil && !c.Host.User.IsZero()
}

// take is the row of what was counted, and begins anew.
func (f *refusals) take() row {
	f.mu.Lock()
	codes := f.codes
	f.named, f.codes = [2]map[string]bool{}, nil
	f.mu.Unlock()
	what := row{Call: "refused", Result: "refused", Refused: true}
	var list []string
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		what.Count += codes[code]
		list = append(list, fmt.Sprintf("%s %d", code, codes[code]))
	}
	what.Detail = strings.Join(list, ", ")
	return what
}
