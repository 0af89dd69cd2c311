package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"usher/venue"
	"usher/venue/store/journal"
)

// A command waits for another one that has its folder open, a while, and no longer than it is asked to.
func TestAFolderThatIsHeld(t *testing.T) {
	held := &journal.LockError{By: "process 7"}
	for name, tt := range map[string]struct {
		free, stop time.Duration // when the folder is let go of, and when the command is interrupted
		took       time.Duration
		noted      bool
		want       string
	}{
		"not at all":      {free: 0, stop: time.Hour},
		"a moment":        {free: 200 * time.Millisecond, stop: time.Hour, took: 200 * time.Millisecond},
		"some time":       {free: 5 * time.Second, stop: time.Hour, took: 5 * time.Second, noted: true},
		"too long":        {free: time.Hour, stop: time.Hour, took: 10 * time.Second, noted: true, want: "process 7 has it open"},
		"until it is cut": {free: time.Hour, stop: 300 * time.Millisecond, took: 300 * time.Millisecond, want: "process 7 has it open"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var said bytes.Buffer
				s := (&Program{Stdout: &said, Stderr: &said}).streams()
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), tt.stop)
				defer cancel()
				_, err := new(fromConfig).free(ctx, s, func() (*venue.Venue, error) {
					if time.Since(began) < tt.free {
						return nil, held
					}
					return nil, nil
				})
				if tt.want == "" && err != nil || tt.want != "" && (!errors.Is(err, held) || !strings.Contains(err.Error(), tt.want)) {
					t.Errorf("%v, want %q", err, tt.want)
				}
				if took := time.Since(began); took != tt.took {
					t.Errorf("it took %s, want %s", took, tt.took)
				}
				if noted := strings.Contains(said.String(), "waiting for it"); noted != tt.noted {
					t.Errorf("it says %q", &said)
				}
			})
		})
	}
}
