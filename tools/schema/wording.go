package schema

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

func expected(want []string, got any) string {
	return "expected " + strings.Join(want, " or ") + ", got " + kindOf(got)
}

func problem(e *jsonschema.ValidationError) string {
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		if len(k.Want) == 1 && k.Want[0] == "integer" && k.Got == "number" {
			return "expected integer, got a number with a fraction"
		}
		return "expected " + strings.Join(k.Want, " or ") + ", got " + k.Got
	case *kind.Enum:
		return "expected one of " + list(k.Want) + ", got " + short(k.Got)
	case *kind.Const:
		return "expected " + short(k.Want) + ", got " + short(k.Got)
	case *kind.FalseSchema:
		return "no value is allowed here"
	case *kind.Not:
		return "fits what the schema excludes"
	case *kind.OneOf:
		return fmt.Sprintf("fits the alternatives %d and %d, where exactly one may fit", k.Subschemas[0]+1, k.Subschemas[1]+1)
	case *kind.Minimum:
		return "expected at least " + number(k.Want) + ", got " + number(k.Got)
	case *kind.Maximum:
		return "expected at most " + number(k.Want) + ", got " + number(k.Got)
	case *kind.ExclusiveMinimum:
		return "expected more than " + number(k.Want) + ", got " + number(k.Got)
	case *kind.ExclusiveMaximum:
		return "expected less than " + number(k.Want) + ", got " + number(k.Got)
	case *kind.MultipleOf:
		return "expected a multiple of " + number(k.Want) + ", got " + number(k.Got)
	case *kind.MinLength:
		return fmt.Sprintf("expected at least %d characters, got %d", k.Want, k.Got)
	case *kind.MaxLength:
		return fmt.Sprintf("expected at most %d characters, got %d", k.Want, k.Got)
	case *kind.MinItems:
		return fmt.Sprintf("expected at least %d items, got %d", k.Want, k.Got)
	case *kind.MaxItems:
		return fmt.Sprintf("expected at most %d items, got %d", k.Want, k.Got)
	case *kind.AdditionalItems:
		return fmt.Sprintf("has %d items more than the schema allows", k.Count)
	case *kind.UniqueItems:
		return fmt.Sprintf("items %d and %d are equal, where each must differ", k.Duplicates[0], k.Duplicates[1])
	case *kind.Contains, *kind.MinContains:
		return "has too few items of the kind that it must contain"
	case *kind.MinProperties:
		return fmt.Sprintf("expected at least %d fields, got %d", k.Want, k.Got)
	case *kind.MaxProperties:
		return fmt.Sprintf("expected at most %d fields, got %d", k.Want, k.Got)
	case *kind.Pattern:
		return short(k.Got) + " does not match the pattern " + k.Want
	case *kind.RefCycle:
		return errCircular.Error()
	default:
		return k.LocalizedString(message.NewPrinter(language.English))
	}
}

func number(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func list(values []any) string {
	const most = 12
	var parts []string
	for i, v := range values {
		if i == most {
			parts = append(parts, fmt.Sprintf("… (%d in all)", len(values)))
			break
		}
		parts = append(parts, short(v))
	}
	return strings.Join(parts, ", ")
}

// short prints a value as JSON, cut where it is long.
func short(v any) string {
	const most = 60
	raw, err := encode(v)
	if err != nil {
		return kindOf(v)
	}
	text := []rune(string(raw))
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}
