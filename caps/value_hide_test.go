package caps_test

import (
	"encoding/json"
	"strings"
	"testing"

	"usher/caps/value"
)

// A text is hidden as it is and as JSON spells it, whatever it begins and ends with, and JSON in
// which it was hidden is JSON.
func TestHideInJSON(t *testing.T) {
	for _, secret := range []string{`plain`, `"quoted"`, `ends with "`, `back\slash\`, "<&>\u2028\n"} {
		raw, err := json.Marshal(map[string]string{"text": "before " + secret + " after"})
		if err != nil {
			t.Fatal(err)
		}
		hide := value.Hide(secret)
		var read map[string]string
		hidden := hide(string(raw))
		if err := json.Unmarshal([]byte(hidden), &read); err != nil || read["text"] != "before "+value.Redacted+" after" {
			t.Errorf("%q in %s is hidden as %s, %v", secret, raw, hidden, err)
		}
		if text := hide("a " + secret + " b"); strings.Contains(text, secret) {
			t.Errorf("%q is hidden as %q", secret, text)
		}
	}
}
