package tools

import (
	"errors"
	"strings"
	"testing"

	"usher/caps"
	"usher/tools/fault"
)

// TestDiscreet: of a failure of a sealed operation the ledger keeps the code, whatever that is;
// a denial has nothing to hide.
func TestDiscreet(t *testing.T) {
	sealed := &Operation{sealed: true}
	for _, code := range []fault.Code{fault.Failed, fault.Denied, ""} {
		if got := sealed.discreet(fault.New(code, "hunter2")); got == nil || strings.Contains(got.Error(), "hunter2") {
			t.Errorf("%q: the ledger keeps %v", code, got)
		}
	}
	denial := new(caps.Denial)
	if got := sealed.discreet(denial); !errors.Is(got, denial) {
		t.Errorf("of a denial it keeps %v", got)
	}
	if got := sealed.discreet(nil); got != nil {
		t.Errorf("of no failure it keeps %v", got)
	}
}
