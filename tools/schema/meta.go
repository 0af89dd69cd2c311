package schema

import (
	"context"
	"encoding/json"
	"sync"
)

// meta is the schema of schemas, of all drafts together.
const meta = `{
  "type": ["object", "boolean"],
  "properties": {
    "$id": {"type": "string"}, "$anchor": {"type": "string"}, "$dynamicAnchor": {"type": "string"}, "$ref": {"type": "string"},
    "$defs": {"$ref": "#/$defs/named"}, "definitions": {"$ref": "#/$defs/named"},
    "allOf": {"$ref": "#/$defs/list"}, "anyOf": {"$ref": "#/$defs/list"}, "oneOf": {"$ref": "#/$defs/list"},
    "not": {"$ref": "#"}, "if": {"$ref": "#"}, "then": {"$ref": "#"}, "else": {"$ref": "#"},
    "type": {"anyOf": [{"$ref": "#/$defs/kind"}, {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/kind"}}]},
    "enum": {"type": "array"},
    "minimum": {"type": "number"}, "maximum": {"type": "number"},
    "exclusiveMinimum": {"type": ["number", "boolean"]}, "exclusiveMaximum": {"type": ["number", "boolean"]},
    "multipleOf": {"type": "number", "exclusiveMinimum": 0},
    "minLength": {"$ref": "#/$defs/count"}, "maxLength": {"$ref": "#/$defs/count"}, "pattern": {"type": "string"},
    "minItems": {"$ref": "#/$defs/count"}, "maxItems": {"$ref": "#/$defs/count"},
    "minContains": {"$ref": "#/$defs/count"}, "maxContains": {"$ref": "#/$defs/count"},
    "minProperties": {"$ref": "#/$defs/count"}, "maxProperties": {"$ref": "#/$defs/count"},
    "prefixItems": {"$ref": "#/$defs/list"}, "items": {"type": ["object", "boolean", "array"]},
    "additionalItems": {"$ref": "#"}, "unevaluatedItems": {"$ref": "#"}, "contains": {"$ref": "#"},
    "uniqueItems": {"type": "boolean"},
    "required": {"$ref": "#/$defs/texts"}, "properties": {"$ref": "#/$defs/named"}, "patternProperties": {"$ref": "#/$defs/named"},
    "additionalProperties": {"$ref": "#"}, "unevaluatedProperties": {"$ref": "#"}, "propertyNames": {"$ref": "#"},
    "dependentRequired": {"type": "object", "additionalProperties": {"$ref": "#/$defs/texts"}},
    "dependentSchemas": {"$ref": "#/$defs/named"},
    "dependencies": {"type": "object", "additionalProperties": {"anyOf": [{"$ref": "#/$defs/texts"}, {"$ref": "#"}]}}
  },
  "$defs": {
    "list": {"type": "array", "items": {"$ref": "#"}},
    "named": {"type": "object", "additionalProperties": {"$ref": "#"}},
    "texts": {"type": "array", "items": {"type": "string"}},
    "count": {"type": "integer", "minimum": 0},
    "kind": {"enum": ["array", "boolean", "integer", "null", "number", "object", "string"]}
  }
}`

// metaPart is the schema that documents are checked against before they are
// compiled. It is the only one that is not.
var metaPart = sync.OnceValue(func() *part {
	document, err := decode(json.RawMessage(meta), MaxDepth)
	if err != nil {
		panic(err)
	}
	p, err := newCompiler(context.Background(), document, nil).root()
	if err != nil {
		panic(err)
	}
	return p
})
