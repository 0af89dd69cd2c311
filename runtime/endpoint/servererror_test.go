package endpoint

import (
	"strings"
	"testing"
)

func TestErrorBody(t *testing.T) {
	cut := strings.Repeat("x", maxErrorBody-10) + " " + "sk-half-k"
	for _, tt := range []struct {
		name, read string
		all        bool
		want       int // bytes of it
	}{
		{"all of it", "bad key", true, 7},
		{"torn", "bad ke", false, 4},
		{"cut", cut, true, len(cut) - 9},
	} {
		if got := errorBody([]byte(tt.read), tt.all); string(got) != tt.read[:tt.want] {
			t.Errorf("%s: %d bytes are left, want %d", tt.name, len(got), tt.want)
		}
	}
}
