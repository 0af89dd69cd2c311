package openai

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/jsonschema-go/jsonschema"

	"usher/runtime"
	"usher/runtime/endpoint"
	"usher/runtime/wrap"
)

// Kinds of endpoint in [Options].
const (
	apiOpenAI = "openai"
	apiAzure  = "azure"
)

// Forms in which an output schema is sent, in [Options].
const (
	outputSchema = "json_schema" // the schema itself; the server keeps to it
	outputObject = "json_object" // only that it is a JSON object
	outputText   = "text"        // not at all; the system message tells the schema
)

// Options says which model is asked, where and how. Model is required, which is
// the deployment of Azure, and so is Azure's BaseURL; the zero value of
// everything else is valid. Pointers that are nil are not sent.
type Options struct {
	endpoint.Options

	APIType      string `json:"api_type" enum:"openai|azure" jsonschema:"Default: openai."`
	APIVersion   string `json:"api_version" jsonschema:"Of Azure: 2024-10-21. Not needed where base_url ends in /openai/v1."`
	Organization string `json:"organization" jsonschema:"Sent as OpenAI-Organization."`

	LegacyMaxTokens   bool         `json:"legacy_max_tokens" jsonschema:"Send max_tokens by its old name, for servers that know only that. Default: false."`
	Seed              *int         `json:"seed" min:"any" jsonschema:"For answers that can be had again, where the server can."`
	ReasoningEffort   string       `json:"reasoning_effort" jsonschema:"For example low; which there are is for the model to say."`
	ParallelToolCalls *bool        `json:"parallel_tool_calls" jsonschema:"false asks for one call at a time."`
	SendReasoning     bool         `json:"send_reasoning" jsonschema:"Give a model back what led it to its calls, as reasoning_content, for those that require it. Default: false."`
	Output            string       `json:"output" enum:"json_schema|json_object|text" jsonschema:"How an agent's output schema is sent. Default: json_schema."`
	NoStreamUsage     endpoint.Off `json:"stream_usage" jsonschema:"false for servers that refuse to report usage in streams. Default: true."`
}

// Refine adds what else the schema of a configuration has to say.
func (*Options) Refine(s *jsonschema.Schema) {
	form.Refine(s)
	azure := any(apiAzure)
	s.AllOf = append(s.AllOf, &jsonschema.Schema{
		If: &jsonschema.Schema{
			Properties: map[string]*jsonschema.Schema{"api_type": {Const: &azure}}, Required: []string{"api_type"},
		},
		Then: &jsonschema.Schema{Required: []string{"base_url"}},
	})
}

// New returns the model that o describes. It does not reach for the server.
func New(o Options) (*Model, error) {
	if err := form.Check(&o.Options); err != nil {
		return nil, err
	}
	switch o.Output {
	case "":
		o.Output = outputSchema
	case outputSchema, outputObject, outputText:
	default:
		return nil, endpoint.Bad("output", "is %q: use %s, %s or %s", o.Output, outputSchema, outputObject, outputText)
	}
	if err := endpoint.CheckValue("organization", o.Organization); err != nil {
		return nil, err
	}
	to, err := o.address()
	if err != nil {
		return nil, err
	}
	about := runtime.About{Provider: "openai", Reasons: o.ReasoningEffort != "" && o.ReasoningEffort != "none"}
	own, authorize := make(http.Header), func(h http.Header, key string) { h.Set("Authorization", "Bearer "+key) }
	if o.APIType == apiAzure {
		about.Provider, authorize = "azure.ai.openai", func(h http.Header, key string) { h.Set("Api-Key", key) }
	}
	if o.Organization != "" {
		own.Set("OpenAI-Organization", o.Organization)
	}
	return &Model{form.Serve(&o.Options, to, own, authorize, about), o}, nil
}

// Provider makes a model from the settings of a configuration, which are the keys
// of [Options]. The key, and headers that are keys, are env:NAME, file:PATH or
// secret:NAME. OpenAI's own address wants one.
func Provider(_ context.Context, cfg runtime.ModelConfig) (runtime.Model, error) {
	var o Options
	if err := endpoint.Read("provider "+Name, cfg.Settings, &o, wrap.Keys()...); err != nil {
		return nil, err
	}
	o.Secrets = endpoint.SecretsOf(cfg)
	m, err := New(o)
	if o.APIType != apiAzure {
		err = errors.Join(err, form.NeedsKey(&o.Options))
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}
