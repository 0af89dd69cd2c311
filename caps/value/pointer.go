package value

import "strings"

var (
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
	unescape = strings.NewReplacer("~0", "~", "~1", "/")
)

// Pointer is a path of keys as a JSON pointer (RFC 6901).
func Pointer(path ...string) string {
	var b strings.Builder
	for _, key := range path {
		b.WriteByte('/')
		_, _ = escape.WriteString(&b, key)
	}
	return b.String()
}

// Keys is the path of a JSON pointer; none for that of the whole value.
func Keys(pointer string) []string {
	if pointer == "" {
		return nil
	}
	path := strings.Split(pointer[1:], "/")
	for i, key := range path {
		path[i] = unescape.Replace(key)
	}
	return path
}
