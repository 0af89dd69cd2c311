package caps

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"usher/caps/value"
)

// checkAbsolute checks did:<method>:<id>[/path]. Only lower-case "did" and
// method are canonical; the id is compared as it stands.
func checkAbsolute(text string) error {
	did, path, hasPath := strings.Cut(text, "/")
	method, id, _ := strings.Cut(did[len(didPrefix):], ":")
	switch {
	case !strings.HasPrefix(did, didPrefix):
		return fmt.Errorf("%q: write \"did:\" in lower case", did[:len(didPrefix)])
	case method == "" || id == "":
		return errors.New("a DID without method or id: write did:<method>:<id>, e.g. did:key:z6Mk…")
	case strings.ContainsFunc(method, func(c rune) bool { return !isLower(c) && !isDigit(c) }):
		return fmt.Errorf("DID method %q: use lower-case letters and digits only", method)
	case strings.HasSuffix(id, ":"):
		return errors.New("a DID that ends in a colon: write the id after it, or leave the colon out")
	}
	for i, c := range id {
		// checkText has refused the escapes of separators.
		_, escape := unescape(id[i:])
		if !isLower(c) && !isDigit(c) && (c < 'A' || c > 'Z') && !strings.ContainsRune("._:-", c) && !escape {
			return fmt.Errorf("DID id %s: only letters, digits, . _ : - and %%XX escapes are allowed", value.Quote(id))
		}
	}
	if !hasPath {
		return nil
	}
	return checkPath(path)
}

// unescape reads the %XX that text begins with, if it does.
func unescape(text string) (byte, bool) {
	if len(text) < 3 || text[0] != '%' {
		return 0, false
	}
	n, err := strconv.ParseUint(text[1:3], 16, 8)
	return byte(n), err == nil
}

func isLower(c rune) bool { return c >= 'a' && c <= 'z' }

func isDigit(c rune) bool { return c >= '0' && c <= '9' }
