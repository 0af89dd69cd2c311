package face

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"usher/tools"
	"usher/tools/fault"
)

// MaxBody is how many bytes of a body are read: the input of an operation, and what stands
// around it.
const MaxBody = tools.MaxInput + 64<<10

// Body reads the body of a request, whose values take no more memory than the input of an
// operation may. An error is of [fault.TooLarge], or of [fault.InvalidInput] where the body
// does not come whole.
func Body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, fault.New(fault.TooLarge, fmt.Sprintf("the body is too large: at most %d bytes are read", MaxBody))
	}
	if err != nil {
		return nil, fault.New(fault.InvalidInput, "the body does not come whole: "+err.Error())
	}
	return raw, tools.CheckWeight(raw)
}

// Strictly reads JSON that has no field which to has not.
func Strictly(raw []byte, to any) error {
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	return strict.Decode(to)
}
