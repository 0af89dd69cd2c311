package tools_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"usher/caps"
	"usher/tools/fault"
)

var errWindow = fault.New(fault.Window, "the conversation does not fit")

func TestFaultOf(t *testing.T) {
	for _, tc := range []struct {
		name  string
		err   error
		want  fault.Code
		again bool
	}{
		{"none", nil, "", false},
		{"no code", errors.New("x"), fault.Failed, false},
		{"no code in several", errors.Join(errors.New("x"), errors.New("y")), fault.Failed, false},
		{"a sentinel", fmt.Errorf("model of bob: %w", errWindow), fault.Window, false},
		{"the outermost", fmt.Errorf("%w: %w", fault.New(fault.InvalidInput, "a"), fault.New(fault.Timeout, "b")), fault.InvalidInput, true},
		{"a denial in whatever", fmt.Errorf("%w: %w", errWindow, new(caps.Denial)), fault.Denied, false},
		{"stopped", fmt.Errorf("ask: %w", context.Canceled), fault.Canceled, false},
		{"an effect that nobody knows", fmt.Errorf("pay: %w", fault.New(fault.Unknown, "cut")), fault.Unknown, false},
		{"late", fmt.Errorf("ask: %w", context.DeadlineExceeded), fault.Timeout, true},
		{"a server's", fault.New(fault.Status(429), "slow down"), "429", false},
	} {
		if got := fault.Of(tc.err); got != tc.want || got.Retryable() != tc.again {
			t.Errorf("%s: Of(%v) = %q, retryable %t, want %q, %t", tc.name, tc.err, got, got.Retryable(), tc.want, tc.again)
		}
	}
	if !errors.Is(fmt.Errorf("ask: %w", errWindow), errWindow) || errors.Is(fault.New(fault.Window, errWindow.Error()), errWindow) {
		t.Error("sentinels are told apart by their code or text, want by themselves")
	}
}
