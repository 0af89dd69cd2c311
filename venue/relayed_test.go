package venue_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// What a program that speaks for a person has scheduled is no word of the person when it fires.
func TestRelayedSchedule(t *testing.T) {
	inTime(t, "", func(t *testing.T, w *timed) {
		program := w.alice.AsRelay()
		invoke(t, program, "scheduler:schedule", `{"operation":"token:revoke","input":{"name":"mine"},"name":"later","after":"1h"}`)
		invoke(t, w.alice, "scheduler:schedule", `{"operation":"token:revoke","input":{"name":"hers"},"name":"own","after":"1h"}`)
		for _, name := range []string{"mine", "hers"} {
			invoke(t, w.alice, "token:create", `{"name":"`+name+`","for":"24h"}`)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if list := invoke(t, w.alice, "token:list", `{}`); !strings.Contains(list, `"name":"mine"`) || strings.Contains(list, `"name":"hers"`) {
			t.Errorf("after both fired: %s", list)
		}
	})
}
