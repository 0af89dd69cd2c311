// Package form reads JSON into structs and says exactly what does not fit. A
// form is a struct with tags; it is at once what is decoded, the list of keys
// that are known, and the JSON Schema. Call [Unmarshal] for JSON text, [Decode]
// for a [Node] that was read from elsewhere, such as YAML, and [Schema].
//
// Reading is strict, because a key that is not understood could be a bound that
// is then not enforced: unknown and repeated keys, wrong types, and numbers out
// of range are a [Fault] each, all of them told at once. Fields that do not
// stand in the JSON keep the value that they have.
//
// The tags of a field:
//
//	json:"key,omitempty"  its key, as encoding/json has it
//	jsonschema:"…"        what it means, for the schema
//	example:"…"           JSON that could stand there, with ' for "
//	noun:"a tool"         what the value, or each entry of a list, is called
//	want:"…"              what to write, where the type does not say it
//	each:"…"              the same of each entry of a list
//	enum:"a|b"            the texts that may stand there
//	kind:"object"         of a [json.RawMessage]: it must be an object
//	unit:"bytes"          of an int: it may be a size such as 256KiB
//	min:"0"               of an int: the least that it may be, where that is not 1; or "any"
//	on:"true"             of a pointer to a struct: true or false may stand there instead
//	empty:"true"          of a text: it may be empty
//	pattern:"…"           of a text, for the schema: what the code checks of it
//	rest:"true"           of a map: it takes the keys that no field has
//
// A blank field carries the noun and the example of the struct itself, and the
// keys that have to stand in it:
//
//	_ struct{} `noun:"a step" required:"op" example:"{'op': 'covia:read'}"`
//
// A struct without one is read by its tags where the field that holds it says
// what it is called, by form:"the run budget". required:"*" is at least one key.
// With text:"true" JSON may hold the struct as
// a text that spells it, as models do.
package form
