package form

import (
	"slices"
	"strings"
)

// Nearest returns the known name closest to name, or "" when none is close. One
// of the same letters is, whatever their order: two that changed places are the
// commonest slip. Of a single letter another one is not.
func Nearest(name string, known []string) string {
	name = strings.ToLower(name)
	letters := ""
	for _, k := range known {
		if lower := strings.ToLower(k); len(lower) == len(name) {
			if letters == "" {
				letters = sortLetters(name)
			}
			if sortLetters(lower) == letters {
				return k
			}
		}
	}
	best, bestAt := "", max(2, 1+len(name)/4)
	for _, k := range known {
		lower := strings.ToLower(k)
		most := min(bestAt, max(len(name), len(lower)))
		if max(len(name)-len(lower), len(lower)-len(name)) >= most {
			continue // it differs in so many at least: what others write may be very long
		}
		if d := distance(name, lower); d < most {
			best, bestAt = k, d
		}
	}
	return best
}

// Suggest asks whether the known name closest to name was meant; it is empty when
// none is close.
func Suggest(name string, known []string) string {
	if near := Nearest(name, known); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

func sortLetters(s string) string {
	b := []byte(s)
	slices.Sort(b)
	return string(b)
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
