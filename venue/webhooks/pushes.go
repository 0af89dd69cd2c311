package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"usher/tools"
	"usher/tools/fault"
	"usher/tools/reach"
	"usher/ucan"
	"usher/venue/runs"
	"usher/venue/store"
)

// PushOptions says what pushes work with. All fields but the last are needed.
type PushOptions struct {
	Store *store.Space // of the whole venue
	Runs  interface {
		Find(ctx context.Context, owner ucan.DID, id string) (runs.Record, error)
	}
	Gate   *tools.Gate
	Mint   *tools.Mint
	Sealer *ucan.Sealer
	// Stands says why what a principal came by proves no more who it is.
	Stands func(ctx context.Context, owner ucan.DID, bearer string) error
	// Private reports whether a host may be one of no public address, and speak plain HTTP.
	Private func(host string) bool
	Now     func() time.Time
	Logger  *slog.Logger

	Transport http.RoundTripper // of all requests; nil dials public addresses, and private ones of Private
}

// Tell is how a run stands now, in a form: the headers and the body of a request.
type Tell func(rec *runs.Record, form string) (head http.Header, body []byte, err error)

// Pushes tells addresses of runs, each of one run: how that stands, whenever it stands
// otherwise, in that order, until it has ended. What an address does not take is told again,
// as it is then, for [MaxAge] at most. It is safe for concurrent use.
type Pushes struct {
	PushOptions
	setting sync.Mutex // held by whoever counts and stores
	tell    atomic.Pointer[Tell]

	mu    sync.Mutex
	lines map[ucan.DID]*line
	more  chan struct{} // there is a line that nobody works at
}

// line are the runs of an owner of which somebody is to be told, each with the time to look
// at it. One goroutine works at it, so that no owner holds up another.
type line struct {
	works bool
	due   map[string]time.Time
	wake  chan struct{}
}

// atOnce is how many runs of an owner are told of at once.
const atOnce = 4

// rests is the time of a run that nothing is to be told of until it changes.
var rests = time.Unix(1<<40, 0)

// NewPushes returns pushes that tell nothing before [Pushes.By] and [Pushes.Run].
func NewPushes(o PushOptions) *Pushes {
	return &Pushes{PushOptions: o, lines: make(map[ucan.DID]*line), more: make(chan struct{}, 1)}
}

// By says how runs are told of.
func (p *Pushes) By(tell Tell) {
	p.tell.Store(&tell)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.lines {
		for run := range l.due {
			l.due[run] = time.Time{}
		}
		signal(l.wake)
	}
}

// add has a run be looked at.
func (p *Pushes) add(owner ucan.DID, run string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lines[owner]
	if l == nil {
		l = &line{due: make(map[string]time.Time), wake: make(chan struct{}, 1)}
		p.lines[owner] = l
		signal(p.more)
	}
	l.due[run] = time.Time{}
	signal(l.wake)
}

// OnStore has a run be looked at that is stored anew, where somebody is to be told of it.
func (p *Pushes) OnStore(owner ucan.DID, run string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.lines[owner]; l != nil {
		if _, told := l.due[run]; told {
			l.due[run] = time.Time{}
			signal(l.wake)
		}
	}
}

// Run tells until ctx ends.
func (p *Pushes) Run(ctx context.Context) {
	var work sync.WaitGroup
	defer work.Wait()
	for {
		err := p.load(ctx)
		if err == nil || ctx.Err() != nil {
			break
		}
		p.Logger.ErrorContext(ctx, "push notifications cannot be read", "error", err)
		if !sleep(ctx, storePause, nil) {
			return
		}
	}
	for {
		p.mu.Lock()
		for owner, l := range p.lines {
			if !l.works {
				l.works = true
				work.Go(func() { p.work(ctx, owner, l) })
			}
		}
		p.mu.Unlock()
		select {
		case <-p.more:
		case <-ctx.Done():
			return
		}
	}
}

// sleep waits until d has passed or something wakes it, unless ctx ends.
func sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// load finds what is to be told since another start of the venue.
func (p *Pushes) load(ctx context.Context) error {
	for row, err := range store.Rows(ctx, p.Store, pushPrefix, "") {
		if err != nil {
			return err
		}
		var rec pushRecord
		owner, rest, _ := strings.Cut(strings.TrimPrefix(row.Key, pushPrefix), "/")
		run, _, _ := strings.Cut(rest, "/")
		did, err := ucan.ParseDID(owner)
		if err == nil {
			err = json.Unmarshal(row.Value, &rec)
		}
		if err != nil {
			return fmt.Errorf("read push %s: %w", row.Key, err)
		}
		if !rec.Over {
			p.add(did, run)
		}
	}
	return nil
}

// work tells of the runs of a line until there is none.
func (p *Pushes) work(ctx context.Context, owner ucan.DID, l *line) {
	for {
		list, wait, more := p.ready(owner, l)
		if !more {
			return
		}
		if len(list) == 0 {
			if !sleep(ctx, wait, l.wake) {
				return
			}
			continue
		}
		var work sync.WaitGroup
		for _, run := range list {
			work.Go(func() {
				next, open := p.look(ctx, owner, run)
				p.mu.Lock()
				defer p.mu.Unlock()
				switch at := l.due[run]; {
				case !at.Equal(rests): // it has changed meanwhile
				case open:
					l.due[run] = next
				default:
					delete(l.due, run)
				}
			})
		}
		work.Wait()
		if ctx.Err() != nil {
			return
		}
	}
}

// ready are some runs of a line to look at now, or how long there is none. A line without
// runs is no more.
func (p *Pushes) ready(owner ucan.DID, l *line) (list []string, wait time.Duration, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(l.due) == 0 {
		delete(p.lines, owner)
		return nil, 0, false
	}
	now := p.Now()
	wait = MaxAge
	for run, at := range l.due {
		if d := at.Sub(now); d > 0 {
			wait = min(wait, d)
			continue
		}
		if list = append(list, run); len(list) == atOnce {
			break
		}
	}
	for _, run := range list {
		l.due[run] = rests
	}
	return list, wait, true
}

// look tells those who are to be told of a run, one after another, and says when to look
// again, or that there is nobody any more.
func (p *Pushes) look(ctx context.Context, owner ucan.DID, run string) (next time.Time, open bool) {
	next = rests
	below := PushesOf(owner.String() + "/" + run)
	rec, err := p.Runs.Find(ctx, owner, run)
	if fault.Of(err) == fault.NotFound {
		if err = p.Store.RemoveBelow(ctx, below); err == nil {
			return next, false
		}
	}
	tell := p.tell.Load()
	if err == nil && tell != nil {
		for row, failed := range store.Rows(ctx, p.Store, below, "") {
			if err = failed; err != nil {
				break
			}
			at, goes, failed := p.one(ctx, owner, &rec, row, *tell)
			if err = failed; err != nil {
				break
			}
			if open = open || goes; goes && at.Before(next) {
				next = at
			}
		}
	}
	if err != nil {
		if ctx.Err() == nil {
			p.Logger.ErrorContext(ctx, "what is to be told of a task cannot be read or noted", "run", run, "error", err)
		}
		return p.Now().Add(storePause), true
	}
	return next, open || tell == nil
}

// one tells one address, where that is due.
func (p *Pushes) one(ctx context.Context, owner ucan.DID, run *runs.Record, row store.Row, tell Tell) (next time.Time, open bool, err error) {
	in, rec, err := p.open(row.Key, row.Value)
	if err != nil || rec.Over {
		return rests, false, err
	}
	stands := run.Status
	if run.Status != runs.Started {
		stands = fmt.Sprintf("%s %d", run.Status, run.Updated)
	}
	if rec.Told == stands || rec.Told == "" && run.Status == runs.Started {
		return rests, true, nil
	}
	now := p.Now()
	if due := time.UnixMilli(rec.Due); due.After(now) {
		return due, true, nil
	}
	if may, err := p.may(ctx, owner, &rec, run.ID); err != nil || !may {
		if err == nil {
			_, err = p.Store.Apply(ctx, map[string]uint64{row.Key: row.Rev}, nil, []string{row.Key})
		}
		return rests, false, err
	}
	head, body, err := tell(run, in.Form)
	if err != nil {
		return rests, false, err
	}
	failed := p.send(ctx, &in, head, body)
	if ctx.Err() != nil {
		return rests, true, nil //nolint:nilerr // it is told again at the next start
	}
	next = rests
	switch rec.Tries++; {
	case failed == nil:
		rec.Told, rec.Over, rec.Tries, rec.Since, rec.Due = stands, run.Over(), 0, 0, 0
	case rec.Since != 0 && now.Sub(time.UnixMilli(rec.Since)) > MaxAge:
		rec.Over = true
		p.Logger.WarnContext(ctx, "a task was not told of: its address has not taken it for a day", "run", run.ID, "tries", rec.Tries, "error", failed)
	default:
		if rec.Since == 0 {
			rec.Since = now.UnixMilli()
		}
		next = now.Add(pause(rec.Tries))
		rec.Due = next.UnixMilli()
		p.Logger.InfoContext(ctx, "a task is told of again later", "run", run.ID, "tries", rec.Tries, "error", failed)
	}
	raw, err := json.Marshal(rec)
	if err != nil {
		return rests, false, err
	}
	moved, err := p.Store.Apply(ctx, map[string]uint64{row.Key: row.Rev}, map[string][]byte{row.Key: raw}, nil)
	if err == nil && moved != "" { // it was set anew, or removed
		return now, true, nil
	}
	return next, !rec.Over, err
}

// may reports whether whoever named an address may still look at the run. An error says that
// nobody knows now.
func (p *Pushes) may(ctx context.Context, owner ucan.DID, rec *pushRecord, run string) (bool, error) {
	auth, err := p.Mint.Open(rec.Authority)
	if err != nil {
		return false, nil //nolint:nilerr // it is none of this venue's
	}
	err = p.Stands(ctx, owner, auth.Bearer())
	may := err == nil
	if may && !auth.IsUnbounded() {
		ruling, failed := p.Gate.Decide(ctx, auth, tools.Invocation{Operation: "grid:jobStatus", Input: fmt.Appendf(nil, `{"id":%q}`, run)})
		may, err = failed == nil && ruling.Verdict() == tools.Allowed, failed
	}
	switch fault.Of(err) {
	case fault.Unauthenticated, fault.Denied, fault.Refused, fault.NotFound:
		err = nil // they may not
	}
	return may, err
}

// send makes one request.
func (p *Pushes) send(ctx context.Context, in *Push, head http.Header, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	if in.Token != "" { // as 1.0's servers say it, and as 0.3 does
		head.Set("A2A-Notification-Token", in.Token)
		head.Set("X-A2A-Notification-Token", in.Token)
	}
	if in.Credentials != "" {
		head.Set("Authorization", in.Scheme+" "+in.Credentials)
	}
	return reach.Post(ctx, client(p.Transport, p.mayBePrivate(in.URL)), in.URL, head, body)
}
