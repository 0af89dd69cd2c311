package schema

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var plainKey = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$-]*$`)

// place writes a location as people do: lines[2].amount.
func place(at []string, value any) string {
	var b strings.Builder
	for _, step := range at {
		_, inArray := value.([]any)
		switch {
		case inArray:
			b.WriteString("[" + step + "]")
		case plainKey.MatchString(step):
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step)
		default:
			b.WriteString("[" + strconv.Quote(step) + "]")
		}
		value = lookUp([]string{step}, value)
	}
	return b.String()
}

func lookUp(at []string, value any) any {
	for _, step := range at {
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// comparePlaces orders indexes by their number and keys by their text.
func comparePlaces(a, b []string) int {
	return slices.CompareFunc(a, b, func(x, y string) int {
		i, errI := strconv.Atoi(x)
		j, errJ := strconv.Atoi(y)
		if errI == nil && errJ == nil {
			return cmp.Compare(i, j)
		}
		return strings.Compare(x, y)
	})
}
