package approvals

import (
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"usher/caps"
	"usher/caps/value"
	"usher/tools"
	"usher/tools/approvals"
	"usher/tools/fault"
	"usher/ucan"
	"usher/venue/runs"
)

// record is a request as it is stored.
type record struct {
	approvals.Request
	Runner string     `json:"runner"`           // DID that the run is of
	Life   tools.Life `json:"life,omitempty"`   // of the agent that makes the call
	Key    string     `json:"key,omitempty"`    // of the call in its run
	Used   int64      `json:"used,omitempty"`   // ms
	Of     string     `json:"of,omitempty"`     // DID of the principal in whose namespace the call works, where that is not Owner
	Wants  []want     `json:"wants,omitempty"`  // what the call needs; see All
	All    bool       `json:"all,omitempty"`    // Wants has it all
	Places []string   `json:"places,omitempty"` // keys of the other calls that wait for a capability
	Kind   string     `json:"kind,omitempty"`   // digest of all calls like it in its run: see [Room.like]
	For    string     `json:"for,omitempty"`    // digest of the narrower call that it is used for
	At     string     `json:"at,omitempty"`     // key of that call

	From string `json:"from,omitempty"` // id of the agent from elsewhere that asks: see [Room.Swap]
	Host string `json:"host,omitempty"` // id of the host of that

	stored string // status that it is stored with
}

const prefix = "p/"

func requestKey(owner, id string) string { return prefix + "req/" + owner + "/" + id }
func atKey(key string) string            { return prefix + "at/" + key }
func openKey(owner, id string) string    { return prefix + "open/" + owner + "/" + id }
func countKey(owner string) string       { return prefix + "count/" + owner }
func callKey(digest string) string       { return prefix + "call/" + digest }
func nearKey(kind, id string) string     { return prefix + "near/" + kind + "/" + id }
func capKey(run, id string) string       { return prefix + "cap/" + run + "/" + id }
func dueKey(ms int64, id string) string  { return fmt.Sprintf("%sdue/%016d/%s", prefix, ms, id) }

// maxShown bounds the input that a request keeps, in bytes.
const maxShown = 256 << 10

// find reads a request of a person.
func (r *Room) find(ctx context.Context, owner, id string) (rec record, rev uint64, err error) {
	raw, rev, err := r.Store.Get(ctx, requestKey(owner, id))
	if err != nil {
		return rec, 0, err
	}
	if raw == nil {
		return rec, 0, fault.New(fault.NotFound, fmt.Sprintf("there is no request %q", id)) // also when another has it
	}
	if err := json.Unmarshal(raw, &rec); err != nil {
		return rec, 0, fmt.Errorf("read request %s: %w", id, err)
	}
	rec.stored = rec.Status
	if rec.Status != approvals.Pending && (rec.Status != approvals.Approved || rec.From != "") {
		return rec, rev, nil
	}
	if r.Now().UnixMilli() > rec.Expires {
		rec.Status = approvals.Expired
		return rec, rev, nil
	}
	ended, err := r.isOver(ctx, &rec)
	if ended {
		rec.Status = approvals.Ended
	}
	return rec, rev, err
}

// UsedAlone reports whether a request, as it is stored, is used up by a call of no run.
func UsedAlone(stored []byte) (bool, error) {
	var rec struct{ Status, Run string }
	if err := json.Unmarshal(stored, &rec); err != nil {
		return false, fmt.Errorf("read request: %w", err)
	}
	return rec.Run == "" && rec.Status == approvals.Used, nil
}

// isOver reports whether the run is over that a request is of.
func (r *Room) isOver(ctx context.Context, rec *record) (bool, error) {
	runner, err := ucan.ParseDID(rec.Runner)
	if rec.Run == "" || err != nil {
		return false, err
	}
	run, err := r.Runs.Find(ctx, runner, rec.Run)
	if fault.Of(err) == fault.NotFound { // pruned
		return true, nil
	}
	return err == nil && run.Over(), err
}

// digestOf names a capability that somebody lacks in a run.
func (r *Room) digestOf(auth tools.Authority, run string, need caps.Request) (string, error) {
	return r.mac("usher capability", auth.Owner().String(), string(auth.Life()), auth.Via(), auth.Bound(), run, string(need.Ability()), need.Resource().String())
}

// digest names a call: who makes it and within what, where in its run, and all that it is. It is keyed,
// as an input can be a short secret that a plain one would give away to whoever tries
// them all.
func (r *Room) digest(of *tools.Ruling, key string, input any) (string, error) {
	auth, op := of.Authority(), of.Operation()
	return r.mac("usher call", auth.Owner().String(), string(auth.Life()), auth.Via(), auth.Bound(), key, op.Path(), op.Reference(), op.Program(), json.RawMessage(value.Append(nil, input)))
}

// like names all calls of an operation by whoever makes this one, in its run; "" where
// that is of none.
func (r *Room) like(of *tools.Ruling) (string, error) {
	auth, op := of.Authority(), of.Operation()
	if auth.Run() == "" {
		return "", nil
	}
	return r.mac("usher calls", auth.Owner().String(), string(auth.Life()), auth.Via(), auth.Bound(), auth.Run(), op.Path(), op.Reference(), op.Program())
}

func (r *Room) mac(of ...any) (string, error) {
	text, err := json.Marshal(of)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, r.Key)
	mac.Write(text)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)), nil
}

// inputView is the input as a person sees it.
func inputView(ruling *tools.Ruling) json.RawMessage {
	if ruling.Operation().IsSealed() {
		return json.RawMessage(`"` + value.Redacted + `"`)
	}
	if input := ruling.Input(); len(input) <= maxShown {
		return input
	}
	text := value.Cut(string(ruling.Input()), maxShown)
	return value.AppendString(nil, fmt.Sprintf("the first %d of %d bytes: %s", len(text), len(ruling.Input()), text))
}

// runner is whose the run is that makes a call: an agent with an identity of its own
// works in runs of whoever asked it.
func runner(ctx context.Context, auth tools.Authority) string {
	if run := runs.From(ctx); run != nil && run.ID() == auth.Run() {
		return run.Owner().String()
	}
	return auth.Owner().String()
}

// statement is what a person signs: that this call may be made once, until a time and
// within limits.
func (rec *record) statement() []byte {
	said := []any{"usher approval", rec.ID, rec.Owner, rec.Digest, rec.Answer.At, rec.Expires}
	if len(rec.Answer.When) > 0 {
		said = append(said, "when", string(rec.Answer.When))
	}
	if rec.Answer.By != rec.Owner {
		said = append(said, "by", rec.Answer.By)
	}
	text, _ := json.Marshal(said) // of texts and numbers
	return text
}

func verifies(rec *record) bool {
	by, err := ucan.ParseDID(rec.Answer.By)
	return err == nil && len(by.PublicKey()) == ed25519.PublicKeySize &&
		ed25519.Verify(by.PublicKey(), rec.statement(), rec.Answer.Signature)
}
