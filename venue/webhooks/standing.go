package webhooks

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"slices"

	"usher/venue/config"
)

// Entry is what of a webhook's entry may be shown: its secret and its path may not.
type Entry struct {
	ID     string   `json:"id"`
	Agent  string   `json:"agent,omitempty"` // of one that comes in: either the agent that it asks
	Op     string   `json:"op,omitempty"`    // or the operation that it runs
	Host   string   `json:"host,omitempty"`  // of one that goes out: of its URL
	Events []string `json:"events,omitempty"`
	Agents []string `json:"agents,omitempty"`
	Error  string   `json:"error,omitempty"` // of its secret, without which nothing is signed
}

// Standing is an entry of what goes out with its deliveries, as they are stored.
type Standing struct {
	Entry
	Waiting int    `json:"waiting"`          // deliveries, at most 10,000
	Next    int64  `json:"next,omitempty"`   // ms: when the first of them is sent
	Tries   int    `json:"tries,omitempty"`  // that it has had
	Failed  string `json:"failed,omitempty"` // why the last of these came to nothing
}

// maxFailed bounds what is stored of why a delivery failed, in bytes.
const maxFailed = 300

// List is the webhooks that come in, by their ids.
func (r *Inbox) List(ctx context.Context) []Entry {
	e := r.hooks.Load()
	list := []Entry{}
	for _, id := range slices.Sorted(maps.Keys(e.byID)) {
		in := e.byID[id]
		entry := Entry{ID: id, Agent: in.Agent, Op: in.Op}
		if _, err := r.Secret.signer(ctx, e.owner, in.Secret); err != nil {
			entry.Error = err.Error()
		}
		list = append(list, entry)
	}
	return list
}

// List is the webhooks that go out, by their ids.
func (o *Outbox) List(ctx context.Context) ([]Standing, error) {
	list := []Standing{}
	for _, h := range o.hooks.Load().byID {
		st := Standing{Entry: Entry{ID: h.ID, Host: hostOf(&h.HookOut), Events: h.Events, Agents: h.Agents}}
		if _, err := o.Secret.signer(ctx, h.owner, h.Secret); err != nil {
			st.Error = err.Error()
		}
		var err error
		if st.Waiting, err = o.backlog(ctx, h.ID); err != nil {
			return nil, err
		}
		rows, _, err := o.Store.Page(ctx, outOf(h.ID), "", 1)
		if err != nil {
			return nil, err
		}
		if len(rows) > 0 {
			var d delivery
			if err := json.Unmarshal(rows[0].Value, &d); err != nil {
				return nil, err
			}
			due, _ := dueOf(h.ID, rows[0].Key)
			st.Next, st.Tries, st.Failed = due.UnixMilli(), d.Tries, d.Failed
		}
		list = append(list, st)
	}
	slices.SortFunc(list, func(a, b Standing) int { return cmp.Compare(a.ID, b.ID) })
	return list, nil
}

// hostOf is what of the URL tells no secret.
func hostOf(h *config.HookOut) string {
	u, err := url.Parse(h.URL)
	if err != nil {
		return ""
	}
	return u.Host
}
