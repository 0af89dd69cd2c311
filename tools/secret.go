package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"usher/caps"
	"usher/caps/value"
)

const canDecrypt = "secret/decrypt"

// Secret is a field of an operation's input that takes a secret by its handle,
// secret:NAME, and never the secret itself. By such a field alone a call requires
// secret/decrypt on s/NAME. Its handler opens the handle by [Secret.Open]; nobody
// before it, and nothing that records the call, sees more than the handle. The zero
// value is a field that was left out, and requires nothing.
type Secret struct {
	name string
	err  error // what was written in place of a handle, without repeating it
}

const secretPrefix = "secret:"

// SecretName is the form of the name of a secret.
const SecretName = `[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}`

// secretPattern is the form of a handle.
const secretPattern = `^` + secretPrefix + SecretName + `$`

var secretForm = value.Form(secretPattern)

var errLiteralSecret = errors.New("takes the handle of a secret, not the secret itself: keep it by usher secrets set NAME, or the operation secret:set, and write secret:NAME")

// String is the handle.
func (s Secret) String() string {
	if s.name == "" {
		return ""
	}
	return secretPrefix + s.name
}

// IsZero reports that the field was left out (for omitzero).
func (s Secret) IsZero() bool { return s == Secret{} }

// MarshalJSON writes the handle.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// UnmarshalJSON reads a handle. What is none is an error of the call's input, which
// comes out when the call is decided.
func (s *Secret) UnmarshalJSON(data []byte) error {
	*s = Secret{}
	var text string
	switch err := json.Unmarshal(data, &text); {
	case err != nil || text != "" && !secretForm().MatchString(text):
		s.err = errLiteralSecret
	default:
		s.name = strings.TrimPrefix(text, secretPrefix)
	}
	return nil
}

func (s Secret) need() caps.Request { return caps.Need(canDecrypt, "s/"+s.name) }

// Open returns the secret, of the owner in whose namespace the call works. It opens
// no other handles than those of the call's input, which were decided on. What a
// handler returns of the value, in its output or its error, becomes [redacted]; what
// it makes of it otherwise is its own to keep.
func (s Secret) Open(ctx context.Context, call Call) (string, error) {
	t := call.ticket
	switch {
	case s.name == "":
		return "", errors.New("open secret: the field was left out")
	case t == nil || t.opened == nil || !slices.Contains(t.call.needs, s.need()):
		return "", fmt.Errorf("open %s: it is no handle of this call's input", s)
	case t.gate.opts.Secrets == nil:
		return "", fmt.Errorf("open %s: this venue keeps no secrets", s)
	}
	value, err := t.gate.opts.Secrets(ctx, call.Owner(), s.name)
	if err != nil {
		return "", fmt.Errorf("open %s: %w", s, err)
	}
	t.opened.add(value)
	return value, nil
}

var secretType = reflect.TypeFor[Secret]()

// secretsIn reports whether values of a type may hold handles, and whether an input
// of the type always does. within are the types that it lies in.
func secretsIn(t reflect.Type, within ...reflect.Type) (may, always bool) {
	if t == secretType {
		return true, true
	}
	if slices.Contains(within, t) {
		return false, false
	}
	within = append(slices.Clip(within), t)
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		may, _ = secretsIn(t.Elem(), within...)
	case reflect.Struct:
		for f := range t.Fields() {
			if !f.IsExported() && !f.Anonymous {
				continue
			}
			some, all := secretsIn(f.Type, within...)
			_, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			may, always = may || some, always || all && !strings.Contains(options, "omit")
		}
	}
	return may, always
}

// secretNeeds is what the handles in an input require. at names the place of v.
func secretNeeds(v reflect.Value, at string) (needs []caps.Request) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return secretNeeds(v.Elem(), at)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			needs = append(needs, secretNeeds(v.Index(i), fmt.Sprintf("%s[%d]", at, i))...)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			needs = append(needs, secretNeeds(v.MapIndex(key), fmt.Sprintf("%s.%v", at, key))...)
		}
	case reflect.Struct:
		if v.Type() == secretType {
			switch s := v.Interface().(Secret); {
			case s.err != nil:
				needs = append(needs, caps.Invalid(fmt.Errorf("%s %w", strings.TrimPrefix(at, "."), s.err)))
			case s.name != "":
				needs = append(needs, s.need())
			}
			return needs
		}
		for f, field := range v.Fields() {
			if may, _ := secretsIn(f.Type); !may || !f.IsExported() && !f.Anonymous {
				continue
			}
			place := at
			if key, _, _ := strings.Cut(f.Tag.Get("json"), ","); key != "" || !f.Anonymous {
				place += "." + key
			}
			needs = append(needs, secretNeeds(field, place)...)
		}
	}
	return needs
}
