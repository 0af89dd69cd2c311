package completions

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"usher/tools"
	"usher/tools/agents"
	"usher/tools/fault"
	"usher/venue"
	"usher/venue/face"
)

// modelEntry is an agent as a client sees it.
type modelEntry struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"` // s; 0 is unknown
	Owner   string `json:"owned_by"`
}

// entry is the agent of an id, which was created at a time in ms.
func entry(id string, created int64) modelEntry {
	return modelEntry{ID: id, Object: "model", Owner: "usher", Created: created / 1000}
}

// allows reports whether the principal may make a call, if only when a person allows it.
func allows(ctx context.Context, p *venue.Principal, operation string, input any) bool {
	ruling, err := p.Decide(ctx, operation, input)
	return err == nil && ruling.Verdict() != tools.Denied
}

// mayChat reports whether the principal may say something to an agent.
func mayChat(ctx context.Context, p *venue.Principal, id string) bool {
	return allows(ctx, p, "agent:chat", agents.Chat{AgentID: id, Message: "?"})
}

// models lists the agents that the caller may message: of all, where the caller may list
// them, or else of those that the caller's own capabilities name.
func (f *Face) models(p *venue.Principal, w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	var ids []string
	created := map[string]int64{}
	if allows(ctx, p, "agent:list", agents.Query{}) {
		list, err := p.Agents(ctx)
		if err != nil {
			return err
		}
		for _, a := range list {
			ids = append(ids, a.AgentID)
			created[a.AgentID] = a.Created
		}
	} else {
		set, err := p.Capabilities(ctx)
		if err != nil {
			return err
		}
		for c := range set.All() {
			if id, named := strings.CutPrefix(c.With(), "g/"); named && agents.CheckID(id) == nil {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	list := []modelEntry{}
	for _, id := range slices.Compact(ids) {
		if mayChat(ctx, p, id) {
			list = append(list, entry(id, created[id]))
		}
	}
	return face.Answer(w, face.JSON, http.StatusOK, map[string]any{"object": "list", "data": list})
}

var errNoModel = fault.New(fault.NotFound, "there is no such model: "+Prefix+"/models lists those that you may talk with")

func (f *Face) model(p *venue.Principal, w http.ResponseWriter, r *http.Request) error {
	ctx, id := r.Context(), r.PathValue("id")
	if agents.CheckID(id) != nil || !mayChat(ctx, p, id) {
		return errNoModel
	}
	made := entry(id, 0)
	if in := map[string]string{"agentId": id}; allows(ctx, p, "agent:info", in) {
		raw, err := p.Invoke(ctx, "agent:info", in)
		if err != nil {
			return err
		}
		var info agents.Info
		if err := json.Unmarshal(raw, &info); err != nil {
			return err
		}
		if info.Status == agents.Terminated {
			return errNoModel
		}
		made.Created = info.Created / 1000
	}
	return face.Answer(w, face.JSON, http.StatusOK, made)
}
