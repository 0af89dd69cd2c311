package caps

import (
	"errors"
	"fmt"
	"strings"

	"usher/caps/value"
)

// checkAbsolute checks did:<method>:<id>[/path]. Only lower-case "did" and
// method are canonical; the id is compared as it stands.
func checkAbsolute(text string) error {
	did, path, hasPath := strings.Cut(text, "/")
	if err := checkDID(did); err != nil {
		return err
	}
	if !hasPath {
		return nil
	}
	return checkPath(path)
}

func checkDID(did string) error {
	if !strings.HasPrefix(did, didPrefix) {
		return fmt.Errorf("%q: write \"did:\" in lower case", did[:len(didPrefix)])
	}
	method, id, _ := strings.Cut(did[len(didPrefix):], ":")
	if method == "" || id == "" {
		return errors.New("a DID without method or id: write did:<method>:<id>, e.g. did:key:z6Mk…")
	}
	for i := range len(method) {
		if c := method[i]; !isLower(c) && !isDigit(c) {
			return fmt.Errorf("DID method %q: use lower-case letters and digits only", method)
		}
	}
	if strings.HasSuffix(id, ":") {
		return errors.New("a DID that ends in a colon: write the id after it, or leave the colon out")
	}
	for i := 0; i < len(id); i++ {
		switch c := id[i]; {
		case isLower(c), isDigit(c), c >= 'A' && c <= 'Z', c == '.', c == '_', c == ':', c == '-':
		case c == '%' && i+2 < len(id) && isHex(id[i+1]) && isHex(id[i+2]):
			i += 2 // checkText has refused the escapes of separators
		default:
			return fmt.Errorf("DID id %s: only letters, digits, . _ : - and %%XX escapes are allowed", value.Quote(id))
		}
	}
	return nil
}

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
