package a2a

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"usher/caps/value"
	"usher/tools/lending"
	"usher/venue"
	"usher/venue/config"
	"usher/venue/face"
)

// URI names the extension: see the table of the package doc.
const URI = lending.Extension

// Metadata of a message, of the extension.
const (
	capabilitiesKey = URI + "/capabilities"
	attenuationsKey = URI + "/attenuations"
	ambientKey      = URI + "/ambient"
)

// extensions are those that cards name. Who is not known is told the ids of grants alone.
func extensions(shown *config.A2A, extended bool) []a2a.AgentExtension {
	if len(shown.Grants) == 0 {
		return nil
	}
	grants := make([]any, len(shown.Grants))
	for i := range shown.Grants {
		g := &shown.Grants[i]
		grants[i] = object{"id": g.ID}
		if extended {
			names := []string{}
			for name := range g.Operations {
				names = append(names, name)
			}
			slices.Sort(names)
			grants[i] = object{
				"id": g.ID, "description": g.Description, "operations": names, "attenuable": g.IsAttenuable(), "legacy": g.Legacy, "requires": append([]string{}, g.Requires...),
			}
		}
	}
	params := map[string]any{
		"capabilityGrants": grants, "phase": shown.Phase, "tokenFormats": []string{"ucan-jwt"},
		"methods": []string{"a2a/capabilities/request", "a2a/capabilities/attenuate", "a2a/capabilities/revoke", "a2a/capabilities/list", "a2a/skill/invoke", "a2a/task/send"},
	}
	if shown.Ambient != "" {
		params["ambientUntil"] = shown.Ambient
	}
	if extended {
		skills := make([]any, len(shown.Skills))
		for i, s := range shown.Skills {
			skills[i] = object{"id": s.ID, "description": s.Description, "operation": s.Operation}
		}
		params["skills"] = skills
	}
	return []a2a.AgentExtension{{URI: URI, Description: "Capabilities for one task, by handles.", Required: shown.Phase == 3, Params: params}}
}

// knows reports whether an extension is spoken here.
func (f *Face) knows(uri string) bool {
	if uri != URI {
		return false // a head has room for very many
	}
	shown, _ := f.door.Venue.Showcase()
	return len(shown.Grants) > 0
}

// aware reports whether the caller has named the extension.
func (c *call) aware() bool { return slices.Contains(c.extensions, URI) }

// readNegotiation reads the parameters of a method of the extension. One that it does not know is
// refused: a limit under a wrong name would be none.
func (c *call) readNegotiation(params any) error {
	if !c.aware() {
		return errNoExtension
	}
	var all map[string]json.RawMessage
	if err := c.read(&all); err != nil {
		return err
	}
	delete(all, "tenant") // it is read
	if err := reread(all, params); err != nil {
		return errParams.because(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// lend calls an operation on capabilities.
func (c *call) lend(operation string, input any) (any, error) {
	out, err := c.p.Invoke(c.r.Context(), operation, input)
	return out, err
}

func (c *call) requestCapabilities() (any, error) {
	var in struct {
		lending.Request
		Purpose string `json:"purpose"`
	}
	if err := c.readNegotiation(&in); err != nil {
		return nil, err
	}
	if in.Request.Purpose = in.Purpose; in.Purpose == "" { // the caller's word, which approvals and the ledger call so
		return nil, errParams.because("purpose is missing: say what the capabilities are for")
	}
	return c.lend("capability:request", in.Request)
}

func (c *call) attenuate() (any, error) {
	var in struct {
		CapabilityID string              `json:"capabilityId"`
		Constraints  lending.Constraints `json:"constraints"`
		Holder       string              `json:"holder"`
	}
	if err := c.readNegotiation(&in); err != nil {
		return nil, err
	}
	return c.lend("capability:attenuate", lending.Attenuate{CapabilityID: in.CapabilityID, Constraints: in.Constraints, Holder: in.Holder})
}

// lends is a method that is an operation on capabilities.
func lends[In any](operation string) func(*call) (any, error) {
	return func(c *call) (any, error) {
		var in In
		if err := c.readNegotiation(&in); err != nil {
			return nil, err
		}
		return c.lend(operation, in)
	}
}

// skill uses a capability. Without one the skill is called as its operation, where the phase
// lets it, and the ledger says so.
func (c *call) skill() (any, error) {
	var in struct {
		Skill        string          `json:"skill"`
		Arguments    json.RawMessage `json:"arguments"`
		CapabilityID string          `json:"capabilityId"`
		Metadata     map[string]any  `json:"metadata"`
	}
	if err := c.readNegotiation(&in); err != nil {
		return nil, err
	}
	if in.CapabilityID == "" {
		if err := c.ambient(in.Metadata); err != nil {
			return nil, err
		}
		return c.lend("capability:ambient", lending.Ambient{Skill: in.Skill, Arguments: in.Arguments})
	}
	use := lending.Use{Skill: in.Skill, CapabilityID: in.CapabilityID}
	if err := json.Unmarshal(in.Arguments, &use.Arguments); err != nil {
		return nil, errParams.because("arguments are no object")
	}
	return c.lend("capability:use", use)
}

// ambient says why something is not done without a capability.
func (c *call) ambient(said map[string]any) error {
	shown, _ := c.face.door.Venue.Showcase()
	switch {
	case shown.Phase == 3:
		return lentFailures[lending.Required].because("nothing is done here without a capability: ask for one by a2a/capabilities/request")
	case shown.Phase == 1 && c.aware() && said[ambientKey] != true:
		return lentFailures[lending.Required].because("no capability is given: name one, or say that ambient authority is used, by " + ambientKey + " in metadata")
	}
	return nil
}

// isGoverned reports whether an agent does what grants are for.
func isGoverned(shown *config.A2A, agent string) bool {
	return slices.ContainsFunc(shown.Grants, func(g config.Grant) bool { return g.Agent == agent })
}

// bind returns the principal who gives an agent a task, bounded by the capabilities that go with
// it, and what the agent is told: its handles beside the message.
func (c *call) bind(in *a2a.SendMessageRequest, agent string, input json.RawMessage) (*venue.Principal, json.RawMessage, error) {
	said, err := ofExtension(in.Metadata, in.Message.Metadata)
	if err != nil {
		return nil, nil, err
	}
	shown, _ := c.face.door.Venue.Showcase()
	if len(said) == 0 || said[ambientKey] != nil {
		if !isGoverned(&shown, agent) {
			return c.p, input, nil
		}
		if shown.Phase == 3 && !c.aware() {
			return nil, nil, errNoExtension
		}
		if err := c.ambient(said); err != nil {
			return nil, nil, err
		}
		_, err := c.lend("capability:ambient", lending.Ambient{Agent: agent})
		return c.p, input, err
	}
	if !c.aware() {
		return nil, nil, errNoExtension
	}
	var ids []string
	var attenuations map[string]lending.Constraints
	if err := reread(said[capabilitiesKey], &ids); err != nil || len(ids) == 0 {
		return nil, nil, errParams.because("capabilities are no list of ids")
	}
	if err := reread(said[attenuationsKey], &attenuations); err != nil {
		return nil, nil, errParams.because("attenuations are no constraints by the ids of capabilities: " + strings.TrimPrefix(err.Error(), "json: "))
	}
	p, lent, err := c.p.Lend(c.r.Context(), agent, ids, attenuations)
	if err != nil {
		return nil, nil, err
	}
	told, err := withHandles(input, shown.Skills, lent)
	return p, told, err
}

// refuseBounds refuses what a message to a task says of capabilities: that has what it began with,
// and whoever narrows it would take it for narrower.
func (c *call) refuseBounds(in *a2a.SendMessageRequest) error {
	said, err := ofExtension(in.Metadata, in.Message.Metadata)
	switch {
	case err != nil || len(said) == 0:
		return err
	case said[ambientKey] != nil:
		return c.ambient(said)
	}
	return errParams.because("metadata: a task has the capabilities that it began with: begin another for these")
}

// ofExtension is what the metadata of a request and of its message say of the extension. What is
// said twice, or has no meaning, is refused: it would bound nothing.
func ofExtension(all ...map[string]any) (map[string]any, error) {
	said := map[string]any{}
	for _, metadata := range all {
		for key, v := range metadata {
			if !strings.HasPrefix(key, URI) {
				continue
			}
			_, twice := said[key]
			switch {
			case key != capabilitiesKey && key != attenuationsKey && key != ambientKey:
				return nil, errParams.because(fmt.Sprintf("metadata: %s means nothing: there are %s, %s and %s", value.Quote(key), capabilitiesKey, attenuationsKey, ambientKey))
			case twice || v == nil:
				return nil, errParams.because("metadata: say " + key + " once, and not null")
			}
			said[key] = v
		}
	}
	if len(said) > 0 && (said[capabilitiesKey] == nil) == (said[ambientKey] == nil) {
		return nil, errParams.because("metadata: give " + capabilitiesKey + ", with " + attenuationsKey + " where they are narrowed, or say " + ambientKey)
	}
	if said[ambientKey] != nil && (said[ambientKey] != true || said[attenuationsKey] != nil) {
		return nil, errParams.because("metadata: " + ambientKey + " is true, and alone")
	}
	return said, nil
}

// reread reads a value that was read as something wider. It has no fields that to has not.
func reread(v, to any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return face.Strictly(raw, to)
}

// withHandles is a message with the handles that go with it. What calls are bounded by is
// elsewhere: a message that names other handles reaches nothing.
func withHandles(input json.RawMessage, skills []config.Skill, lent []lending.Capability) (json.RawMessage, error) {
	var text string
	if json.Unmarshal(input, &text) != nil {
		text = string(input)
	}
	handles := []object{}
	for _, c := range lent {
		names := []string{}
		for _, s := range skills {
			if slices.Contains(c.Operations, s.Operation) || slices.Contains(c.Operations, "*") {
				names = append(names, s.ID)
			}
		}
		for _, h := range c.Handles {
			handles = append(handles, object{"resourceHandle": h.Handle, "displayName": h.Name, "skills": names})
		}
	}
	raw, err := json.Marshal(handles)
	if err != nil {
		return nil, err
	}
	return json.Marshal(fmt.Sprintf("%s\n\nFor this task you were lent these, to use by capability_use alone: %s", text, raw))
}

// sendLiteral is SendMessage as the proposal writes it.
func (c *call) sendLiteral() (any, error) {
	var in struct {
		Message      map[string]json.RawMessage `json:"message"`
		Capabilities any                        `json:"capabilities"`
		Attenuations any                        `json:"attenuations"`
		Config       any                        `json:"configuration"`
		Metadata     map[string]any             `json:"metadata"`
	}
	if err := c.readNegotiation(&in); err != nil {
		return nil, err
	}
	if in.Message == nil {
		return nil, errParams.because("message is missing")
	}
	if string(in.Message["role"]) == `"user"` {
		in.Message["role"] = value.AppendString(nil, string(a2a.MessageRoleUser))
	}
	if id := string(in.Message["messageId"]); id == "" || id == "null" {
		in.Message["messageId"] = value.AppendString(nil, a2a.NewMessageID())
	}
	said := object{}
	maps.Copy(said, in.Metadata)
	if in.Capabilities != nil {
		said[capabilitiesKey] = in.Capabilities
	}
	if in.Attenuations != nil {
		said[attenuationsKey] = in.Attenuations
	}
	raw, err := json.Marshal(object{"message": in.Message, "configuration": in.Config, "metadata": said})
	if err != nil {
		return nil, err
	}
	c.params, c.version = raw, modern
	return c.send()
}
