package visitors

import "strings"

// splitPath splits a resource into its segments.
func splitPath(with string) []string { return strings.Split(strings.TrimSuffix(with, "/"), "/") }

// placeOf is the name of a place {field} of a resource.
func placeOf(segment string) (name string, ok bool) {
	name, ok = strings.CutPrefix(segment, "{")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(name, "}")
}
