package openai

import (
	"net/http"
	"time"

	"usher/runtime/endpoint"
)

// Kinds of endpoint in [Options].
const (
	APIOpenAI = "openai"
	APIAzure  = "azure"
)

// Forms in which an output schema is sent, in [Options].
const (
	OutputSchema = "json_schema" // the schema itself; the server keeps to it
	OutputObject = "json_object" // only that it is a JSON object
	OutputText   = "text"        // not at all; the system message tells the schema
)

// Options says which model is asked, where and how. Model is required; the
// zero value of everything else is valid. Pointers that are nil are not sent.
type Options struct {
	Model        string          // as the server names it; of Azure: the deployment
	BaseURL      string          // "" is OpenAI's; required for Azure
	AllowHTTP    bool            // permit http to other machines than this one
	Key          endpoint.Secret // "" for servers that need none
	APIType      string          // APIOpenAI or APIAzure; "" is APIOpenAI
	APIVersion   string          // of Azure, for example "2024-10-21"; not needed where BaseURL ends in /openai/v1
	Organization string          // sent as OpenAI-Organization; "" is not sent

	Headers       map[string]string          // more headers
	SecretHeaders map[string]endpoint.Secret // more headers, with values that no error may show

	Temperature       *float64 // 0 to 2
	TopP              *float64 // 0 to 1
	MaxTokens         int      // of the answer, reasoning included; 0 is not sent
	LegacyMaxTokens   bool     // send MaxTokens as max_tokens, for servers that know only that
	Seed              *int
	ReasoningEffort   string // for example "low"; which there are is for the model to say
	ParallelToolCalls *bool
	SendReasoning     bool   // give a model back what led it to its calls, as reasoning_content: some require it
	Output            string // OutputSchema, OutputObject or OutputText; "" is OutputSchema

	NoStream      bool          // ask for the answer in one piece
	NoStreamUsage bool          // do not ask for usage in streams, for servers that refuse stream_options
	Timeout       time.Duration // of one request, its answer included; 0 is [endpoint.DefaultTimeout]

	// Transport carries the requests; nil is one of the model's own, which for an
	// http address connects to this machine alone unless AllowHTTP is set.
	Transport http.RoundTripper
	Now       func() time.Time // nil is time.Now; for dates in Retry-After
}

// New returns the model that o describes. It does not reach for the server.
func New(o Options) (*Model, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	to, err := o.address()
	if err != nil {
		return nil, err
	}
	m := &Model{
		url: to.String(), about: o.about(to),
		server: endpoint.NewServer(endpoint.Access{
			To: to, AllowHTTP: o.AllowHTTP, Transport: o.Transport, Timeout: o.Timeout,
			Key: o.Key, Secrets: o.SecretHeaders, Headers: o.Headers, Own: o.ownHeaders(),
		}),
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Output == "" {
		o.Output = OutputSchema
	}
	o.Key, o.SecretHeaders, o.Headers = "", nil, nil
	m.opts = o
	return m, nil
}

func (o *Options) check() error {
	if o.Model == "" {
		return endpoint.Bad("model", "is missing: name the model as the server does, for example gpt-5-mini")
	}
	if t := o.Temperature; t != nil && !(*t >= 0 && *t <= 2) {
		return endpoint.Bad("temperature", "is %v: use 0 to 2", *t)
	}
	if p := o.TopP; p != nil && !(*p >= 0 && *p <= 1) {
		return endpoint.Bad("top_p", "is %v: use 0 to 1", *p)
	}
	if o.MaxTokens < 0 {
		return endpoint.Bad("max_tokens", "is %d: use a number above 0", o.MaxTokens)
	}
	if o.Timeout < 0 {
		return endpoint.Bad("timeout", "is %s: use one above 0, for example 5m", o.Timeout)
	}
	switch o.Output {
	case "", OutputSchema, OutputObject, OutputText:
	default:
		return endpoint.Bad("output", "is %q: use %s, %s or %s", o.Output, OutputSchema, OutputObject, OutputText)
	}
	if err := endpoint.CheckValue("key", string(o.Key)); err != nil {
		return err
	}
	if err := endpoint.CheckValue("organization", o.Organization); err != nil {
		return err
	}
	return endpoint.CheckHeaders(o.Headers, o.SecretHeaders, nil)
}
