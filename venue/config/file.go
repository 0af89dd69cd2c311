package config

import (
	"encoding/json"
	"errors"
	"net/url"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"usher/tools/agents"
	"usher/tools/form"
	"usher/tools/mcp"
	"usher/tools/orchestrate"
	"usher/venue/ledger"
)

// file is what a file of a configuration holds.
type file struct {
	_              struct{}         `noun:"the configuration" example:"'agents': [{'id': 'Carol', 'prompt': '…', 'tools': ['covia:read'], 'caps': [{'with': 'w/', 'can': 'crud/read'}]}]"`
	Name           string           `json:"name,omitempty" example:"acme-ap" jsonschema:"Name of the venue, as models are told. Default: the folder's name."`
	User           string           `json:"user,omitempty" example:"acme" jsonschema:"In whose namespace agents and data live. Default: owner."`
	Store          string           `json:"store,omitempty" example:".usher" jsonschema:"Data folder, relative to the configuration. memory keeps nothing. Default: .usher."`
	Models         map[string]Model `json:"models,omitempty" noun:"model" want:"models by name" example:"{'default': {'provider': 'offline'}}" jsonschema:"Models by name. Agents that name none use the one named default."`
	Data           []datum          `json:"data,omitempty" example:"[{'path': 'w/docs/policy', 'file': 'policy.md'}]" jsonschema:"Values to write. One that changes here is written again, unless what is stored was changed or deleted there since."`
	Agents         []agent          `json:"agents,omitempty" example:"[{'id': 'Carol', 'tools': ['covia:read']}]"`
	Orchestrations []orchestration  `json:"orchestrations,omitempty" example:"[{'id': 'pipeline', 'steps': […]}]"`
	Schedules      []schedule       `json:"schedules,omitempty" example:"[{'id': 'nightly', 'agent': 'Carol', 'say': {'agent': 'Dave', 'text': '…'}, 'cron': '0 3 * * *'}]"`
	Limits         Limits           `json:"limits,omitzero"`
	Ledger         Ledger           `json:"ledger,omitzero"`
	Retention      Retention        `json:"retention,omitzero"`
	Approvals      Approvals        `json:"approvals,omitzero"`
	Auth           Auth             `json:"auth,omitzero"`
	MCP            []mcp.Server     `json:"mcp,omitempty" example:"[{'id': 'files', 'command': ['npx', '-y', '@modelcontextprotocol/server-filesystem', '/srv/docs']}]" jsonschema:"MCP servers, whose tools are operations mcp/<id>/<tool>."`
	Server         Server           `json:"server,omitzero"`
	Webhooks       Webhooks         `json:"webhooks,omitzero"`
	AgentAuth      AgentAuth        `json:"agentauth,omitzero"`
	A2A            A2A              `json:"a2a,omitzero"`
}

// Model is an entry of models: a provider and that provider's settings. Files
// that they name are in the configuration's folder, where they were relative.
// It logs the names of its settings only, since a key may be among them.
type Model struct {
	_        struct{}       `noun:"a model" required:"provider" example:"{'provider': 'offline'}"`
	Provider string         `json:"provider" example:"offline" jsonschema:"openai (every endpoint that speaks Chat Completions), anthropic, offline, or a provider that the program brings. Settings that are not any model's are the provider's."`
	Settings map[string]any `json:"-" rest:"true"` // text, bool, json.Number, []any and map[string]any
}

// datum is an entry of data as it is written.
type datum struct {
	_     struct{}        `noun:"an entry of data" required:"path" example:"{'path': 'w/docs/policy', 'file': 'policy.md'}"`
	Path  string          `json:"path" example:"w/docs/policy" pattern:"^/?[wo]/" jsonschema:"Where the value belongs, below w/ or o/."`
	Value json.RawMessage `json:"value,omitempty" jsonschema:"The value itself."`
	File  string          `json:"file,omitempty" example:"policy.md" jsonschema:"A file in the configuration's folder: .json and .yaml give the value they hold, others their text."`
}

// Check says that an entry has one source.
func (d *datum) Check() error {
	if (d.Value == nil) == (d.File == "") {
		return form.In("path", errors.New("an entry of data has either value or file: write one of them"))
	}
	return nil
}

// Refine adds the rule of Check.
func (*datum) Refine(s *jsonschema.Schema) { s.OneOf = form.OneOf("value", "file") }

// agent is an agent as it is written: its prompt may stand in a file.
type agent struct {
	_ struct{} `required:"id"`
	agents.Spec
	PromptFile string `json:"prompt_file,omitempty" example:"carol.md" jsonschema:"A file in the configuration's folder that holds the prompt."`
}

// Check says what is wrong with the agent itself.
func (a *agent) Check() error {
	if a.Prompt != "" && a.PromptFile != "" {
		return form.In("prompt_file", errors.New("an agent has either prompt or prompt_file: write one of them"))
	}
	return a.Spec.Check()
}

// Refine adds the rule of Check.
func (*agent) Refine(s *jsonschema.Schema) {
	s.Not = &jsonschema.Schema{Required: []string{"prompt", "prompt_file"}}
}

// orchestration is an orchestration as it is written.
type orchestration struct {
	_           struct{} `noun:"an orchestration" required:"id,steps" example:"{'id': 'pipeline', 'steps': [{'op': 'covia:read', 'input': {'path': ['input', 'path']}}]}"`
	ID          string   `json:"id" example:"pipeline" jsonschema:"Kept at o/<id>, which is the reference that runs it."`
	Description string   `json:"description,omitempty" example:"Reads an invoice and decides on it."`
	orchestrate.Body
}

// Limits bounds turns and calls. A zero field was not written.
type Limits struct {
	_           struct{}      `noun:"limits" example:"{'model_calls': 20}"`
	ModelCalls  int           `json:"model_calls,omitempty" example:"20" jsonschema:"Model calls of a turn. Default: 20."`
	ToolTimeout time.Duration `json:"tool_timeout,omitempty" example:"300s" jsonschema:"Time of a tool call, for example 300s, which is the default."`
	ToolResult  int           `json:"tool_result,omitempty" unit:"bytes" example:"256KiB" jsonschema:"Size of a tool's result to the model. Default: 256KiB."`
	ToolsAtOnce int           `json:"tools_at_once,omitempty" example:"8" jsonschema:"Tool calls of one answer that run side by side. Default: 8."`
	OutputTries int           `json:"output_tries,omitempty" example:"3" jsonschema:"Answers until one fits the output schema. Default: 3."`
	Delegation  time.Duration `json:"delegation,omitempty" example:"24h" jsonschema:"Life of what an agent hands on by ucan:delegate or ucan:issue. Default: 24h."`
	CallDepth   int           `json:"call_depth,omitempty" example:"16" jsonschema:"Operations that start operations. Default: 16."`

	// Of all that comes of one first call:
	Calls     int `json:"calls,omitempty" example:"10000" jsonschema:"Calls of operations that come of one first call. Default: 10000."`
	Values    int `json:"values,omitempty" unit:"bytes" example:"64MiB" jsonschema:"Values that are read and written by all that comes of one first call. Default: 64MiB."`
	Steps     int `json:"steps,omitempty" example:"100000" jsonschema:"Steps of orchestrations, searches and validation that come of one first call. Default: 100000."`
	Patterns  int `json:"patterns,omitempty" unit:"bytes" example:"10MiB" jsonschema:"Patterns of JSON Schemas that are compiled for all that comes of one first call. Default: 10MiB."`
	RunsBegun int `json:"runs_begun,omitempty" example:"1000" jsonschema:"Background runs that come of one first call. Default: 1000."`

	Runs    int           `json:"runs,omitempty" example:"64" jsonschema:"Background runs of a user that execute at once, of which one agent takes at most a quarter. Default: 64."`
	RunTime time.Duration `json:"run_time,omitempty" example:"1h" jsonschema:"Time of a background run. Default: 1h."`

	Schedules int `json:"schedules,omitempty" example:"1000" jsonschema:"Schedules of a user, of which one agent makes at most a quarter. Default: 1000."`
	Approvals int `json:"approvals,omitempty" example:"1000" jsonschema:"Calls that wait for a user's answer, of which one agent makes at most a quarter. Default: 1000."`
}

// Ledger says what becomes of the audit ledger.
type Ledger struct {
	_           struct{} `noun:"the ledger" example:"{'checkpoints': ['/mnt/elsewhere/checkpoints']}"`
	Checkpoints []string `json:"checkpoints,omitempty" example:"['/mnt/elsewhere/checkpoints', 'https://log.example.org/add']" jsonschema:"Where each signed checkpoint goes beside the data folder: files, which it is appended to, relative to the configuration, and http or https URLs, which it is posted to."`
}

// Check says which place is none.
func (l *Ledger) Check() error {
	for _, place := range l.Checkpoints {
		if err := ledger.CheckPlace(place); err != nil {
			return form.In("checkpoints", err)
		}
	}
	return nil
}

// Approvals says what becomes of calls that wait for a person.
type Approvals struct {
	_    struct{} `noun:"the approvals" example:"{'hook': {'command': ['./tell', 'me']}}"`
	Hook Hook     `json:"hook,omitzero" jsonschema:"Who is told of each request, and of each answer: a command or a url."`
}

// Hook is a command or a URL that is told of something.
type Hook struct {
	_       struct{}      `noun:"a hook" example:"{'command': ['./tell', 'me']}"`
	Command []string      `json:"command,omitempty" noun:"an argument" each:"its text" example:"['./tell', 'me']" jsonschema:"A program and its arguments, run in the configuration's folder: it reads the request as JSON from its standard input."`
	URL     string        `json:"url,omitempty" example:"https://chat.example.org/hooks/approvals" pattern:"^https?://" jsonschema:"The request is posted there as JSON. Redirects are not followed."`
	Timeout time.Duration `json:"timeout,omitempty" example:"10s" jsonschema:"Time of one message. Default: 10s."`
}

// Check says what is wrong with the hook itself.
func (h *Hook) Check() error {
	if (len(h.Command) == 0) == (h.URL == "") {
		return errors.New("a hook has either command or url: write one of them")
	}
	if u, err := url.Parse(h.URL); h.URL != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
		return form.In("url", errors.New("this is no http or https URL"))
	}
	return nil
}

// Refine adds the rule of Check.
func (*Hook) Refine(s *jsonschema.Schema) { s.OneOf = form.OneOf("command", "url") }

// Retention says what stays of what is over. A zero field keeps all of it.
type Retention struct {
	_         struct{}      `noun:"the retention" example:"{'sessions': {'age': '2160h', 'number': 1000}}"`
	Sessions  KeepLimit     `json:"sessions,omitzero" jsonschema:"Sessions of an agent that nobody uses: by their last event, and so many of the latest."`
	Runs      KeepLimit     `json:"runs,omitzero" jsonschema:"Turns, tasks, jobs and orchestrations of a user that are over: by their end, and so many of the latest."`
	Approvals KeepLimit     `json:"approvals,omitzero" jsonschema:"Requests for approvals of a user that are over, with the runs that asked: by their end, and so many of the latest."`
	Rows      KeepLimit     `json:"rows,omitzero" jsonschema:"Rows of the ledger: by their time, and so many of the last. What proves the rest stays."`
	Journal   time.Duration `json:"journal,omitempty" example:"336h" jsonschema:"How far back a moment can be restored: what the journal has from before goes once a snapshot has it. Default: 168h, a week."`
}

// KeepLimit bounds one kind of what is over, by age and by number. Zero is no bound.
type KeepLimit struct {
	_      struct{}      `noun:"a retention" example:"{'age': '2160h', 'number': 1000}"`
	Age    time.Duration `json:"age,omitempty" example:"2160h" jsonschema:"Time after which it goes, for example 2160h, which are 90 days. Default: it stays."`
	Number int           `json:"number,omitempty" example:"1000" jsonschema:"How many stay. Default: all."`
}
