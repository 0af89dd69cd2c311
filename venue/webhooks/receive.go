package webhooks

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"usher/caps"
	"usher/caps/value"
	"usher/tools"
	"usher/tools/fault"
	"usher/ucan"
	"usher/venue/config"
	"usher/venue/runs"
	"usher/venue/store"
)

// InboxOptions says what an inbox works with. All fields are needed.
type InboxOptions struct {
	Store  *store.Space // of the whole venue
	Runs   *runs.Book
	Gate   *tools.Gate
	Mint   *tools.Mint
	Secret Secrets
	Now    func() time.Time
	NewID  func() (string, error)
	Logger *slog.Logger
}

// Inbox takes requests. It is safe for concurrent use.
type Inbox struct {
	InboxOptions
	nobody []byte       // key of no entry: nobody knows what it signs
	held   atomic.Int64 // bytes of bodies whose signature is not known to hold yet
	hooks  atomic.Pointer[inHooks]
}

// inHooks are the entries of the configuration, by their ids.
type inHooks struct {
	owner ucan.DID
	byID  map[string]config.HookIn
}

// NewInbox returns an inbox without entries.
func NewInbox(o InboxOptions) *Inbox {
	r := &Inbox{InboxOptions: o, nobody: []byte(rand.Text())}
	r.hooks.Store(new(inHooks))
	return r
}

// Set has the inbox do what a configuration of the owner's says from now on.
func (r *Inbox) Set(owner ucan.DID, list []config.HookIn) {
	hooks := &inHooks{owner, make(map[string]config.HookIn, len(list))}
	for _, h := range list {
		hooks.byID[h.ID] = h
	}
	r.hooks.Store(hooks)
}

// Bounds of requests that come in.
const (
	maxBody   = 1 << 20         // bytes
	maxHeld   = 16 << 20        // bytes of all bodies that come in
	maxID     = 256             // bytes of webhook-id
	tolerance = 5 * time.Minute // between the time of a request and now
	kept      = 24 * time.Hour  // that a webhook-id starts nothing again
	taskTime  = 3 * time.Second // that an answer waits for a task to begin
)

var errBody = fault.New(fault.InvalidInput, "the body is no JSON object, as the operation of the webhook takes one")

// startMark is what a request has started.
type startMark struct {
	Run string `json:"run"`
	At  int64  `json:"at"` // s
}

// Receipt says what a request has started.
type Receipt struct {
	Run  string `json:"run"`            // id of the job
	Task string `json:"task,omitempty"` // id of the run of an agent's task, which the job waits for; "" while there is none
}

// Receive takes a request to a webhook, and returns what it starts, or has started. Whose
// head cannot hold is refused before the body is read.
func (r *Inbox) Receive(ctx context.Context, id string, head http.Header, body io.ReadCloser) (Receipt, error) {
	name, err := r.claim(head)
	if err != nil {
		return Receipt{}, err
	}
	e := r.hooks.Load()
	in := e.byID[id]
	raw, err := r.read(http.MaxBytesReader(nil, body, maxBody), head, r.signer(ctx, e.owner, &in))
	if err != nil {
		return Receipt{}, err
	}
	run, err := r.start(ctx, e.owner, &in, name, raw)
	if err != nil || in.Agent == "" {
		return Receipt{Run: run}, err
	}
	task, err := r.task(ctx, e.owner, run)
	return Receipt{run, task}, err
}

// start starts the job of a request, unless one of its name has before.
func (r *Inbox) start(ctx context.Context, owner ucan.DID, in *config.HookIn, name string, body []byte) (run string, err error) {
	auth, ref, input, err := r.job(owner, in, body)
	if err != nil {
		return "", err
	}
	op, err := r.Gate.Resolve(ctx, auth, ref)
	if err != nil {
		return "", fmt.Errorf("webhook %s: %w", in.ID, err)
	}
	mark := digest(in.ID, name)
	if had, err := r.runOf(ctx, mark); had != "" || err != nil {
		return had, err
	}
	if run, err = r.NewID(); err != nil {
		return "", err
	}
	with, err := r.withMarks(ctx, mark, run)
	if err != nil {
		return "", err
	}
	spec := runs.Spec{Kind: runs.Job, ID: run, Op: op.Path(), Ref: op.Reference(), Input: input, Background: true, With: with}
	_, err = r.Runs.Start(ctx, auth, spec, func(ctx context.Context, run *runs.Run) (json.RawMessage, error) {
		res, err := r.Gate.Invoke(ctx, auth.InRun(run.ID()), tools.Invocation{Operation: op.Reference(), Input: input, At: runs.OfJob})
		return res.Output, err
	})
	if errors.Is(err, runs.ErrMoved) { // another request of the id was faster
		if had, err := r.runOf(ctx, mark); had != "" || err != nil {
			return had, err
		}
	}
	return run, err
}

// task is the run of the task that a job gives to its agent. It waits for that to begin, as
// long as the job can give it and a sender waits for the answer; "" where none has.
func (r *Inbox) task(ctx context.Context, owner ucan.DID, job string) (id string, err error) {
	ctx, begun := context.WithTimeout(ctx, taskTime)
	defer begun()
	defer r.Runs.Watch(owner, func(run *runs.Run) {
		if run.Record().Parent == job {
			begun()
		}
	})()
	find := func() (string, error) {
		rec, err := r.Runs.OfKey(context.WithoutCancel(ctx), owner, runs.OfJob.In(job))
		if rec == nil || err != nil {
			return "", err
		}
		return rec.ID, nil
	}
	run := r.Runs.Live(owner, job)
	if id, err = find(); id != "" || err != nil || run == nil {
		return id, err
	}
	_, _ = run.Wait(ctx) // what comes of the job its run tells
	return find()
}

// job is what a request starts, and the authority that it has: that of the owner, within the
// capabilities of the entry.
func (r *Inbox) job(owner ucan.DID, in *config.HookIn, body []byte) (auth tools.Authority, ref string, input json.RawMessage, err error) {
	auth = r.Mint.User(owner)
	if set, bounded := in.Caps.Set(); bounded {
		if in.Agent != "" { // to ask it is what the entry is for
			set = caps.Of(append(slices.Collect(set.All()), caps.MustCapability("g/"+in.Agent, "agent/request"))...)
		}
		auth = auth.Narrow(set)
	}
	isObject := tools.CheckObject(body) == nil
	fields := map[string]json.RawMessage{}
	if len(in.Input) > 0 {
		if err := json.Unmarshal(in.Input, &fields); err != nil {
			return auth, "", nil, err
		}
	}
	if in.Agent == "" && len(in.Input) == 0 {
		if !isObject {
			return auth, "", nil, errBody
		}
		return auth, in.Op, body, nil
	}
	if fields["body"] = value.AppendString(nil, string(body)); json.Valid(body) {
		fields["body"] = body
	}
	if in.Agent == "" {
		input, err = json.Marshal(fields)
		return auth, in.Op, input, err
	}
	fields["webhook"] = value.AppendString(nil, in.ID)
	input, err = json.Marshal(map[string]any{"agentId": in.Agent, "input": fields})
	return auth, "agent:request", input, err
}

const (
	inPrefix = "h/in/"
	atPrefix = "h/at/"
)

func digest(hook, id string) string {
	sum := sha256.Sum256([]byte(hook + "\x00" + id))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// runOf is the run that the request of a mark has started; "" where it has none.
func (r *Inbox) runOf(ctx context.Context, mark string) (run string, err error) {
	raw, _, err := r.Store.Get(ctx, inPrefix+mark)
	if raw == nil || err != nil {
		return "", err
	}
	var s startMark
	err = json.Unmarshal(raw, &s)
	return s.Run, err
}

// sweepSize is how many marks that are over go with each new one: more than come.
const sweepSize = 4

// withMarks returns what is stored with the run that a request starts, with some marks that are over.
func (r *Inbox) withMarks(ctx context.Context, mark, run string) (*runs.With, error) {
	now := r.Now()
	raw, err := json.Marshal(startMark{run, now.Unix()})
	if err != nil {
		return nil, err
	}
	with := &runs.With{
		Expect: map[string]uint64{inPrefix + mark: 0},
		Put:    map[string][]byte{inPrefix + mark: raw, fmt.Sprintf("%s%012d/%s", atPrefix, now.Unix(), mark): {}},
	}
	old, _, err := r.Store.PageKeys(ctx, atPrefix, "", sweepSize)
	if err != nil {
		return nil, err
	}
	end := fmt.Sprintf("%s%012d", atPrefix, now.Add(-kept).Unix())
	for _, key := range old {
		if key < end {
			with.Del = append(with.Del, key, inPrefix+key[strings.LastIndexByte(key, '/')+1:])
		}
	}
	return with, nil
}
