package agui

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"usher/runtime"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/fault"
	"usher/venue"
	"usher/venue/face"
)

// capabilities are what an agent can do for a caller now (AG-UI 1.0, "Capabilities"). What
// is absent is not known, or not to be known to the caller.
type capabilities struct {
	Identity   identity        `json:"identity"`
	Transport  json.RawMessage `json:"transport"`
	Tools      toolBox         `json:"tools"`
	Output     *output         `json:"output,omitempty"`
	State      json.RawMessage `json:"state"`
	MultiAgent *agency         `json:"multiAgent,omitempty"`
	Reasoning  json.RawMessage `json:"reasoning,omitempty"`
	Execution  *execution      `json:"execution,omitempty"`
	Multimodal json.RawMessage `json:"multimodal"`
	Human      *human          `json:"humanInTheLoop,omitempty"`
	Custom     *ours           `json:"custom,omitempty"`
}

// What is the same of all agents, and of all that reason. Messages and answers are texts,
// whatever the provider takes.
var (
	transport  = json.RawMessage(`{"streaming":true,"websocket":false,"httpBinary":false,"pushNotifications":false,"resumable":true}`)
	state      = json.RawMessage(`{"snapshots":true,"deltas":true,"memory":true,"persistentState":true}`)
	reasoning  = json.RawMessage(`{"supported":true,"streaming":true,"encrypted":false}`)
	multimodal = json.RawMessage(`{"input":{"image":false,"audio":false,"video":false,"pdf":false,"file":false},"output":{"image":false,"audio":false}}`)
)

type identity struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Description string `json:"description,omitempty"`
}

type toolBox struct {
	Supported *bool       `json:"supported,omitempty"`
	Items     []*toolItem `json:"items,omitzero"`
	Parallel  *bool       `json:"parallelCalls,omitempty"`
	Client    bool        `json:"clientProvided"`
}

type toolItem struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Metadata    struct {
		Needs needs `json:"cog13"`
	} `json:"metadata"`
}

// needs are what a call of a tool takes.
type needs struct {
	Operation string   `json:"operation"`
	Needs     [][]need `json:"needs"` // of each list one
}

type need struct {
	With string `json:"with,omitempty"`
	Can  string `json:"can"`
}

type output struct {
	Structured bool     `json:"structuredOutput"`
	Types      []string `json:"supportedMimeTypes"`
}

type agency struct {
	Supported  bool           `json:"supported"`
	Delegation bool           `json:"delegation"`
	Handoffs   bool           `json:"handoffs"`
	Subagents  []subagentInfo `json:"subagents,omitempty"`
}

type subagentInfo struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

type execution struct {
	Code          bool  `json:"codeExecution"`
	MaxIterations int64 `json:"maxIterations,omitempty"` // calls of the model in a run
}

type human struct {
	Supported  bool `json:"supported"`
	Approvals  bool `json:"approvals"`
	Interrupts bool `json:"interrupts"`
	Edits      bool `json:"approveWithEdits"`
}

type ours struct {
	COG13 struct {
		Caps         json.RawMessage `json:"caps"`
		Unrestricted bool            `json:"unrestricted"`
	} `json:"cog13"`
}

// capabilities says what an agent can do for the caller. What it may do, those may know who
// may read it.
func (f *Face) capabilities(w http.ResponseWriter, r *http.Request) error {
	p, err := f.door.Person(r)
	if err != nil {
		return err
	}
	ctx, id := r.Context(), r.PathValue("agent")
	if err := p.Still(ctx, "agent:chat", agents.Chat{AgentID: id, Message: "?"}); err != nil && fault.Of(err) != fault.ApprovalRequired {
		return err
	}
	c := &capabilities{
		Identity:  identity{Name: id, Type: "usher"},
		Transport: transport, Tools: toolBox{Client: true}, State: state, Multimodal: multimodal,
	}
	offer, err := p.Offer(ctx, id)
	switch {
	case err == nil:
		c.of(p, offer)
	case fault.Of(err) != fault.Denied:
		return err
	}
	return face.Answer(w, face.JSON, http.StatusOK, c)
}

// of says what the caller may know of the agent.
func (c *capabilities) of(p *venue.Principal, o *venue.Offer) {
	c.Identity.Description = o.Config.Description
	yes, some := true, len(o.Operations) > 0
	c.Tools.Supported, c.Tools.Parallel, c.Tools.Items = &some, &yes, make([]*toolItem, len(o.Operations))
	for i, op := range o.Operations {
		c.Tools.Items[i] = itemOf(op)
	}
	c.Output = &output{Types: []string{"text/plain"}}
	if len(o.Config.Output) > 0 {
		c.Output = &output{Structured: true, Types: []string{"application/json"}}
	}
	asks := func(name string) bool {
		return slices.ContainsFunc(o.Operations, func(op *tools.Operation) bool { return op.Name() == name })
	}
	c.MultiAgent = &agency{Delegation: asks("agent:request") || asks("agent:chat")}
	c.MultiAgent.Supported = c.MultiAgent.Delegation && len(o.Within) > 0
	if c.MultiAgent.Supported {
		for _, a := range o.Within {
			c.MultiAgent.Subagents = append(c.MultiAgent.Subagents, subagentInfo{a.AgentID, a.Description})
		}
	}
	if runtime.Describe(o.Model).Reasons {
		c.Reasoning = reasoning
	}
	c.Execution = &execution{
		Code:          slices.ContainsFunc(o.Operations, func(op *tools.Operation) bool { return strings.HasPrefix(op.Name(), "command:") }),
		MaxIterations: int64(o.ModelCalls),
	}
	if b := o.Config.Budgets; b != nil && b.Run.Calls > 0 {
		c.Execution.MaxIterations = min(c.Execution.MaxIterations, b.Run.Calls)
	}
	asked := o.Config.Ask != nil && *o.Config.Ask
	for held := range o.Caps.All() {
		asked = asked || held.Asks()
	}
	c.Human = &human{Supported: asked, Approvals: asked, Interrupts: asked, Edits: asked && p.InPerson()}
	c.Custom = new(ours)
	c.Custom.COG13.Unrestricted = o.Caps.IsUnrestricted()
	c.Custom.COG13.Caps, _ = o.Caps.MarshalJSON() // of values: cannot fail
}

// itemOf is an operation as a tool.
func itemOf(op *tools.Operation) *toolItem {
	it := &toolItem{Name: op.ToolName(), Description: op.Description(), Parameters: op.InputSchema()}
	it.Metadata.Needs = needs{Operation: op.Path(), Needs: [][]need{}}
	for _, group := range op.Scopes() {
		var list []need
		for _, sc := range group {
			if !sc.Foreign {
				list = append(list, need{With: sc.Under, Can: string(sc.Can)})
			}
		}
		it.Metadata.Needs.Needs = append(it.Metadata.Needs.Needs, list)
	}
	return it
}
