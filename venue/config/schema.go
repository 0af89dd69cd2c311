package config

import (
	_ "embed"
	"encoding/json"
	"slices"
)

//go:embed schema.json
var schemaJSON []byte

// Schema returns the JSON Schema of a configuration file, for editors. [Load]
// is stricter: it knows paths, abilities, and the files beside the one it reads.
func Schema() json.RawMessage { return slices.Clone(json.RawMessage(schemaJSON)) }
