package openai

import (
	"net/url"
	"strings"

	"usher/runtime/endpoint"
)

const azureV1 = "/openai/v1" // Azure's newer API, with paths like OpenAI's

var form = endpoint.Form{
	Name:     Name,
	Speaks:   "the Chat Completions format",
	Default:  "https://api.openai.com/v1",
	Example:  "https://host/v1",
	Endpoint: "/chat/completions",
	Query:    "api_version or headers",
	Variable: "OPENAI_API_KEY",
	Model:    "gpt-5-mini",
	Hottest:  2,
}

// address returns where requests go.
func (o *Options) address() (*url.URL, error) {
	azure := o.APIType == apiAzure
	if azure && o.BaseURL == "" {
		return nil, endpoint.Bad("base_url", "is missing: Azure needs the resource's own, for example https://NAME.openai.azure.com")
	}
	u, err := form.Base(o.BaseURL, o.AllowHTTP)
	if err != nil {
		return nil, err
	}
	u.Path = strings.TrimRight(u.Path, "/")
	deployed := azure && !strings.HasSuffix(u.Path, azureV1)
	switch {
	case !azure && o.APIType != "" && o.APIType != apiOpenAI:
		return nil, endpoint.Bad("api_type", "is %q: use %s or %s", o.APIType, apiOpenAI, apiAzure)
	case !azure && o.APIVersion != "":
		return nil, endpoint.Bad("api_version", "belongs to Azure: remove it, or set api_type: azure")
	case deployed && o.APIVersion == "":
		return nil, endpoint.Bad("api_version", "is missing: Azure needs one, for example 2024-10-21, unless base_url ends in %s", azureV1)
	case deployed && (o.Model == "." || o.Model == ".."):
		return nil, endpoint.Bad("model", "is %q: of Azure, name the deployment", o.Model)
	case deployed:
		u = u.JoinPath("openai", "deployments", url.PathEscape(o.Model))
	}
	if o.APIVersion != "" {
		u.RawQuery = url.Values{"api-version": {o.APIVersion}}.Encode()
	}
	return u.JoinPath("chat", "completions"), nil
}
