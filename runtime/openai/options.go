package openai

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
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
	Model        string // as the server names it; of Azure: the deployment
	BaseURL      string // "" is OpenAI's; required for Azure
	AllowHTTP    bool   // permit http to other machines than this one
	Key          Secret // "" for servers that need none
	APIType      string // APIOpenAI or APIAzure; "" is APIOpenAI
	APIVersion   string // of Azure, for example "2024-10-21"; not needed where BaseURL ends in /openai/v1
	Organization string // sent as OpenAI-Organization; "" is not sent

	Headers       map[string]string // more headers
	SecretHeaders map[string]Secret // more headers, with values that no error may show

	Temperature       *float64 // 0 to 2
	TopP              *float64 // 0 to 1
	MaxTokens         int      // of the answer, reasoning included; 0 is not sent
	LegacyMaxTokens   bool     // send MaxTokens as max_tokens, for servers that know only that
	Seed              *int
	ReasoningEffort   string // for example "low"; which there are is for the model to say
	ParallelToolCalls *bool
	Output            string // OutputSchema, OutputObject or OutputText; "" is OutputSchema

	NoStream      bool          // ask for the answer in one piece
	NoStreamUsage bool          // do not ask for usage in streams, for servers that refuse stream_options
	Timeout       time.Duration // of one request, its answer included; 0 is DefaultTimeout

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
	url, err := o.endpoint()
	if err != nil {
		return nil, err
	}
	m := &Model{name: o.Model, url: url, timeout: o.Timeout, now: o.Now, client: o.client(url)}
	if m.timeout == 0 {
		m.timeout = DefaultTimeout
	}
	if m.now == nil {
		m.now = time.Now
	}
	if o.Output == "" {
		o.Output = OutputSchema
	}
	m.authorize, m.redact = o.authorizer(), o.redactor()
	o.Key, o.SecretHeaders, o.Headers = "", nil, nil
	m.opts = o
	return m, nil
}

func (o *Options) check() error {
	if o.Model == "" {
		return errors.New("model is missing: name the model as the server does, for example gpt-5-mini")
	}
	if t := o.Temperature; t != nil && !(*t >= 0 && *t <= 2) {
		return fmt.Errorf("temperature is %v: use 0 to 2", *t)
	}
	if p := o.TopP; p != nil && !(*p >= 0 && *p <= 1) {
		return fmt.Errorf("top_p is %v: use 0 to 1", *p)
	}
	if o.MaxTokens < 0 {
		return fmt.Errorf("max_tokens is %d: use a number above 0", o.MaxTokens)
	}
	if o.Timeout < 0 {
		return fmt.Errorf("timeout is %s: use one above 0, for example 5m", o.Timeout)
	}
	switch o.Output {
	case "", OutputSchema, OutputObject, OutputText:
	default:
		return fmt.Errorf("output is %q: use %s, %s or %s", o.Output, OutputSchema, OutputObject, OutputText)
	}
	if err := checkValue("key", string(o.Key)); err != nil {
		return err
	}
	if err := checkValue("organization", o.Organization); err != nil {
		return err
	}
	for name, value := range o.Headers {
		if err := checkHeader(name, value); err != nil {
			return err
		}
	}
	for name, value := range o.SecretHeaders {
		if err := checkHeader(name, string(value)); err != nil {
			return err
		}
	}
	return nil
}

// ownHeaders are set by the request itself.
var ownHeaders = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type",
	"Host", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

func checkHeader(name, value string) error {
	const token = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if name == "" || strings.Trim(name, token) != "" {
		return fmt.Errorf("headers: %q is not the name of a header: use letters, digits and -", name)
	}
	for _, own := range ownHeaders {
		if strings.EqualFold(name, own) {
			return fmt.Errorf("headers: %s is set by the request itself: remove it", own)
		}
	}
	return checkValue("headers: "+name, value)
}

// checkValue keeps what no header can hold out of one. It never shows the value.
func checkValue(what, value string) error {
	for _, c := range []byte(value) {
		if c < ' ' && c != '\t' || c == 0x7f {
			return fmt.Errorf("%s holds a line break or another control character: give it on one line", what)
		}
	}
	return nil
}
