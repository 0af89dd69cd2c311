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
)

var errBody = fault.New(fault.InvalidInput, "the body is no JSON object, as the operation of the webhook takes one")

// started is what a request has started.
type started struct {
	Run string `json:"run"`
	At  int64  `json:"at"` // s
}

// Receive takes a request to a webhook, and returns the run that it starts, or has started.
// Whose head cannot hold is refused before the body is read.
func (r *Inbox) Receive(ctx context.Context, id string, head http.Header, body io.ReadCloser) (run string, err error) {
	name, err := r.claim(head)
	if err != nil {
		return "", err
	}
	e := r.hooks.Load()
	in := e.byID[id]
	raw, err := r.read(http.MaxBytesReader(nil, body, maxBody), head, r.signer(ctx, e.owner, &in))
	if err != nil {
		return "", err
	}
	auth, ref, input, err := r.job(e.owner, &in, raw)
	if err != nil {
		return "", err
	}
	op, err := r.Gate.Resolve(ctx, auth, ref)
	if err != nil {
		return "", fmt.Errorf("webhook %s: %w", id, err)
	}
	mark := digest(id, name)
	if had, err := r.started(ctx, mark); had != nil || err != nil {
		return had.run(), err
	}
	if run, err = r.NewID(); err != nil {
		return "", err
	}
	with, err := r.marked(ctx, mark, run)
	if err != nil {
		return "", err
	}
	spec := runs.Spec{Kind: runs.Job, ID: run, Op: op.Path(), Ref: op.Reference(), Input: input, Background: true, With: with}
	_, err = r.Runs.Start(ctx, auth, spec, func(ctx context.Context, run *runs.Run) (json.RawMessage, error) {
		res, err := r.Gate.Invoke(ctx, auth.InRun(run.ID()), tools.Invocation{Operation: op.Reference(), Input: input, At: runs.OfJob})
		return res.Output, err
	})
	if errors.Is(err, runs.ErrMoved) { // another request of the id was faster
		if had, err := r.started(ctx, mark); had != nil || err != nil {
			return had.run(), err
		}
	}
	return run, err
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

func (s *started) run() string {
	if s == nil {
		return ""
	}
	return s.Run
}

// started is what the request of a mark has started; nil is nothing.
func (r *Inbox) started(ctx context.Context, mark string) (*started, error) {
	raw, _, err := r.Store.Get(ctx, inPrefix+mark)
	if raw == nil || err != nil {
		return nil, err
	}
	s := new(started)
	return s, json.Unmarshal(raw, s)
}

// sweepSize is how many marks that are over go with each new one: more than come.
const sweepSize = 4

// marked is what is stored with the run that a request starts, with some marks that are over.
func (r *Inbox) marked(ctx context.Context, mark, run string) (*runs.With, error) {
	now := r.Now()
	raw, err := json.Marshal(started{run, now.Unix()})
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
