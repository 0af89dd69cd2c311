package config

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"usher/runtime/anthropic"
	"usher/runtime/offline"
	"usher/runtime/openai"
	"usher/runtime/wrap"
	"usher/tools/form"
)

// providerSettings are the forms of the built-in providers.
func providerSettings() map[string]reflect.Type {
	return map[string]reflect.Type{
		offline.Name: reflect.TypeFor[struct{}](), openai.Name: reflect.TypeFor[openai.Options](), anthropic.Name: reflect.TypeFor[anthropic.Options](),
	}
}

// modelSchema is the schema of a model: its provider, the settings of any model,
// and those of a built-in provider.
func modelSchema() *jsonschema.Schema {
	out, every := form.Schema(reflect.TypeFor[Model](), form.YAML), form.Schema(reflect.TypeFor[wrap.Settings](), form.YAML)
	maps.Copy(out.Properties, every.Properties)
	out.PropertyOrder = append(out.PropertyOrder, every.PropertyOrder...)
	out.Not, out.AllOf = every.Not, every.AllOf
	providers := providerSettings()
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		out.Properties["provider"].Examples = append(out.Properties["provider"].Examples, name)
		own := form.Schema(providers[name], form.YAML)
		for _, setting := range out.PropertyOrder {
			own.Properties[setting] = new(jsonschema.Schema)
		}
		is := any(name)
		out.AllOf = append(out.AllOf, &jsonschema.Schema{
			If:   &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{"provider": {Const: &is}}, Required: []string{"provider"}},
			Then: own,
		})
	}
	return out
}

// Schema returns the JSON Schema of a configuration file, for editors: that of
// the forms that [Load] reads, and of the settings of models. [Load] is
// stricter: it knows paths, abilities, and the files beside the one it reads.
func Schema() json.RawMessage {
	s := form.Schema(reflect.TypeFor[file](), form.YAML)
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "Usher configuration"
	s.Description = "A venue: its models, data, agents and orchestrations. One file, or one of several in a folder."
	s.Properties["models"].AdditionalProperties = modelSchema()
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // it is made of what is compiled in, and a test makes it
	}
	return raw
}
