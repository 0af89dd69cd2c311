package face

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"usher/tools"
	"usher/tools/fault"
	"usher/tools/form"
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

// Strictly reads JSON into what to points to. A field that a struct has not is an error, which
// names those that it has.
func Strictly(raw []byte, to any) error {
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	err := strict.Decode(to)
	if err == nil {
		return nil
	}
	quoted, unknown := strings.CutPrefix(err.Error(), "json: unknown field ")
	if !unknown {
		return err
	}
	name, _ := strconv.Unquote(quoted)
	err = fmt.Errorf("unknown field %s", quoted)
	var outer map[string]json.RawMessage
	at := reflect.TypeOf(to).Elem()
	if at.Kind() != reflect.Struct || json.Unmarshal(raw, &outer) != nil || outer[name] == nil {
		return err // it stands deeper inside
	}
	keys := form.Keys(at)
	if meant := form.Suggest(name, keys); meant != "" {
		return fmt.Errorf("%w: %s", err, meant)
	}
	return fmt.Errorf("%w: known are %s", err, strings.Join(keys, ", "))
}
