package tools_test

import (
	"encoding/json"
	"testing"
	"time"

	"usher/tools/scheduler"
)

// What can be read comes after the moment when it is scheduled, and can be kept.
func FuzzTimes(f *testing.F) {
	for _, text := range []string{`"2026-12-24T18:00:00+01:00"`, `1795375478001`, `-1`, `1e400`, `"90m"`, `"-5s"`, `9223372036854775807`, `null`, `{}`, `"2026-12-24"`, `true`, `-288230376150711744`} {
		f.Add(text, "")
		f.Add("", text)
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, at, after string) {
		s := scheduler.Schedule{At: json.RawMessage(at), After: json.RawMessage(after)}
		times, err := s.Times()
		if err != nil {
			return
		}
		if ms := int64(0); json.Unmarshal([]byte(after), &ms) == nil && ms < 0 {
			t.Errorf("after %q is read as %s", after, times.After)
		}
		first := times.First(now)
		switch {
		case times.At.IsZero() == (times.After == 0):
			t.Errorf("at %q and after %q are read as %+v", at, after, times)
		case first.IsZero() && times.At.After(now), !first.IsZero() && !first.After(now):
			t.Errorf("at %q and after %q fire first at %s", at, after, first)
		case !first.IsZero() && time.UnixMilli(first.UnixMilli()).Sub(first).Abs() >= time.Millisecond:
			t.Errorf("%s cannot be kept", first)
		}
	})
}
