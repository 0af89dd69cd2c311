package config

import (
	_ "embed"
	"encoding/json"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"usher/tools/form"
)

// modelsJSON are the definitions of models' settings, which are the providers'.
//
//go:embed models.json
var modelsJSON []byte

// Schema returns the JSON Schema of a configuration file, for editors: that of
// the forms that [Load] reads, and of the settings of models. [Load] is
// stricter: it knows paths, abilities, and the files beside the one it reads.
func Schema() json.RawMessage {
	s := form.Schema(reflect.TypeFor[file](), form.YAML)
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "Usher configuration"
	s.Description = "A venue: its models, data, agents and orchestrations. One file, or one of several in a folder."
	s.Properties["models"].AdditionalProperties = &jsonschema.Schema{Ref: "#/$defs/model"}
	err := json.Unmarshal(modelsJSON, &s.Defs)
	var raw []byte
	if err == nil {
		raw, err = json.Marshal(s)
	}
	if err != nil {
		panic(err) // it is made of what is compiled in, and a test makes it
	}
	return raw
}
