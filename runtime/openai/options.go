package openai

import (
	"usher/runtime"
	"usher/runtime/endpoint"
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

	APIType      string // "openai" or "azure"; "" is "openai"
	APIVersion   string // of Azure, for example "2024-10-21"; not needed where BaseURL ends in /openai/v1
	Organization string // sent as OpenAI-Organization; "" is not sent

	LegacyMaxTokens   bool // send MaxTokens as max_tokens, for servers that know only that
	Seed              *int
	ReasoningEffort   string // for example "low"; which there are is for the model to say
	ParallelToolCalls *bool
	SendReasoning     bool   // give a model back what led it to its calls, as reasoning_content: some require it
	Output            string // how an output schema is sent: "json_schema" (also for ""), "json_object" or "text"
	NoStreamUsage     bool   // do not ask for usage in streams, for servers that refuse stream_options
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
	about := runtime.About{Provider: "openai"}
	if o.APIType == apiAzure {
		about.Provider = "azure.ai.openai"
	}
	server := form.Serve(&o.Options, to, o.ownHeaders(), about)
	return &Model{server, o}, nil
}
