package a2a

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"usher/tools/fault"
	"usher/venue"
	"usher/venue/runs"
	"usher/venue/webhooks"
)

// oldPush is a push notification config of 0.3, where it lies in one with its task.
type oldPush struct {
	ID    string `json:"id,omitempty"`
	URL   string `json:"url"`
	Token string `json:"token,omitempty"`
	Auth  *struct {
		Schemes     []string `json:"schemes"`
		Credentials string   `json:"credentials,omitempty"`
	} `json:"authentication,omitempty"`
}

func (o *oldPush) modern() *a2a.PushConfig {
	if o == nil {
		return nil
	}
	in := &a2a.PushConfig{ID: o.ID, URL: o.URL, Token: o.Token}
	if o.Auth != nil && len(o.Auth.Schemes) > 0 {
		in.Auth = &a2a.PushAuthInfo{Scheme: o.Auth.Schemes[0], Credentials: o.Auth.Credentials}
	}
	return in
}

// pushOf is what somebody names to be told by. One without an id has that of its task in
// 0.3, where it may be asked for without one, and otherwise one of its own.
func (c *call) pushOf(in *a2a.PushConfig, task string) webhooks.Push {
	id := in.ID
	if id == "" {
		if id = task; c.version == modern {
			id = rand.Text()
		}
	}
	p := webhooks.Push{ID: id, Run: task, Form: c.version, Address: webhooks.Address{URL: in.URL, Token: in.Token}}
	if in.Auth != nil {
		p.Scheme, p.Credentials = in.Auth.Scheme, in.Auth.Credentials
	}
	return p
}

// configOf is a push as the version of the request has it.
func (c *call) configOf(p *webhooks.Push) any {
	if c.version == modern {
		out := &a2a.PushConfig{TaskID: a2a.TaskID(p.Run), ID: p.ID, URL: p.URL, Token: p.Token}
		if p.Scheme != "" {
			out.Auth = &a2a.PushAuthInfo{Scheme: p.Scheme, Credentials: p.Credentials}
		}
		return out
	}
	out := object{"id": p.ID, "url": p.URL}
	if p.Token != "" {
		out["token"] = p.Token
	}
	if p.Scheme != "" {
		auth := object{"schemes": []string{p.Scheme}}
		if p.Credentials != "" {
			auth["credentials"] = p.Credentials
		}
		out["authentication"] = auth
	}
	return object{"taskId": p.Run, "pushNotificationConfig": out}
}

// createPush has an address be told of a task. The answer is the only one that repeats what
// proves who tells.
func (c *call) createPush() (any, error) {
	var in struct {
		a2a.PushConfig
		Old *oldPush `json:"pushNotificationConfig"`
	}
	if err := c.read(&in); err != nil {
		return nil, err
	}
	conf := &in.PushConfig
	if c.version == legacy {
		if conf = in.Old.modern(); conf == nil {
			return nil, errParams.because("pushNotificationConfig is missing")
		}
	}
	rec, err := c.find(string(in.TaskID))
	if err != nil {
		return nil, err
	}
	p := c.pushOf(conf, rec.ID)
	if err := c.p.SetPush(c.r.Context(), p); err != nil {
		return nil, noPush(err)
	}
	return c.configOf(&p), nil
}

// noPush is an error of setting a push.
func noPush(err error) error {
	if errors.Is(err, venue.ErrNoPush) {
		return errNoPush.because(err.Error())
	}
	return err
}

// pushRef names a push, or the task of some.
type pushRef struct {
	a2a.GetTaskPushConfigRequest
	Old string `json:"pushNotificationConfigId"`
}

// readPush reads which push of which task is meant, in 0.3's words too.
func (c *call) readPush() (*runs.Record, string, error) {
	var in pushRef
	if err := c.read(&in); err != nil {
		return nil, "", err
	}
	task, id := string(in.TaskID), in.ID
	if c.version == legacy {
		task, id = in.ID, in.Old
	}
	rec, err := c.find(task)
	return rec, id, err
}

var errNoConfig = errParams.because("the task has no such push notification config")

func (c *call) getPush() (any, error) {
	rec, id, err := c.readPush()
	if err != nil {
		return nil, err
	}
	list, err := c.p.Pushes(c.r.Context(), rec.ID)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].ID == id || id == "" && c.version == legacy && (list[i].ID == rec.ID || len(list) == 1) {
			return c.configOf(&list[i]), nil
		}
	}
	return nil, errNoConfig
}

// listPushes lists all of a task: they are few.
func (c *call) listPushes() (any, error) {
	rec, _, err := c.readPush()
	if err != nil {
		return nil, err
	}
	list, err := c.p.Pushes(c.r.Context(), rec.ID)
	if err != nil {
		return nil, err
	}
	out := make([]any, len(list))
	for i := range list {
		out[i] = c.configOf(&list[i])
	}
	if c.version == legacy {
		return out, nil
	}
	return object{"configs": out}, nil
}

func (c *call) deletePush() (any, error) {
	rec, id, err := c.readPush()
	if err != nil {
		return nil, err
	}
	if c.version == legacy {
		id = cmp.Or(id, rec.ID)
	}
	if err := c.p.RemovePush(c.r.Context(), rec.ID, id); fault.Of(err) == fault.NotFound {
		return nil, errNoConfig
	} else if err != nil || c.version == modern {
		return nil, err
	}
	return json.RawMessage("null"), nil
}

// tell is how a task stands, as an address is told of it: the task itself when it has ended,
// and before that its status alone. Version 0.3 tells tasks alone.
func tell(rec *runs.Record, form string) (http.Header, []byte, error) {
	c := &call{version: form, brief: true}
	t, err := c.task(rec, shape{history: new(int), artifacts: true})
	if err != nil {
		t = &a2a.Task{ID: a2a.TaskID(rec.ID), ContextID: rec.Session, Status: c.status(rec)}
	}
	if form == legacy {
		body, err := json.Marshal(oldTask(t))
		return http.Header{"Content-Type": {jsonType}}, body, err
	}
	out := a2a.StreamResponse{Event: t}
	if !rec.Over() {
		out.Event = &a2a.TaskStatusUpdateEvent{TaskID: t.ID, ContextID: t.ContextID, Status: t.Status}
	}
	body, err := json.Marshal(out)
	return http.Header{"Content-Type": {ownType}, versionHeader: {modern}}, body, err
}
