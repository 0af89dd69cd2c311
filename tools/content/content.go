// Package content is output that is not JSON alone: text, pictures, sound and embedded
// resources, in the form that the Model Context Protocol has for them ("Tool Result").
// An operation returns [Output], and a face that knows the form passes it on as it is.
package content

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
)

// Output is the output of an operation.
type Output struct {
	Content []Block `json:"content"`
}

// Block is one piece of it.
type Block map[string]any

// Mark is what the schema of a block has: by it, a face knows output of this form.
const Mark = "x-mcp-content"

// Is reports whether a schema is of output of this form.
func Is(schema json.RawMessage) bool { return bytes.Contains(schema, []byte(`"`+Mark+`":true`)) }

// Of is output of the blocks.
func Of(blocks ...Block) Output { return Output{blocks} }

// Text is a block of text.
func Text(s string) Block { return Block{"type": "text", "text": s} }

// Image is a picture of a media type such as image/png.
func Image(data []byte, media string) Block { return binary("image", data, media) }

// Audio is sound of a media type such as audio/wav.
func Audio(data []byte, media string) Block { return binary("audio", data, media) }

func binary(kind string, data []byte, media string) Block {
	return Block{"type": kind, "data": base64.StdEncoding.EncodeToString(data), "mimeType": media}
}

// TextResource is a resource of text, with its address.
func TextResource(uri, media, text string) Block {
	return Block{"type": "resource", "resource": map[string]any{"uri": uri, "mimeType": media, "text": text}}
}

// BinaryResource is any other resource.
func BinaryResource(uri, media string, data []byte) Block {
	return Block{"type": "resource", "resource": map[string]any{"uri": uri, "mimeType": media, "blob": base64.StdEncoding.EncodeToString(data)}}
}
