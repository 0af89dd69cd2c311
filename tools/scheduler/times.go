package scheduler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"usher/caps/value"
	"usher/tools/form"
)

// Times says when a schedule fires: by one of its fields.
type Times struct {
	At    time.Time
	After time.Duration
	Cron  Timetable
}

// lastTime bounds the times of schedules: the end of the year 9999.
var lastTime = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)

// First is when a schedule that is made now fires first; zero where its time has
// passed, or none comes.
func (t Times) First(now time.Time) time.Time {
	switch {
	case !t.At.IsZero() && !t.At.After(now):
		return time.Time{}
	case !t.At.IsZero():
		return t.At
	case t.After != 0:
		return now.Add(t.After)
	}
	return t.Cron.Next(now)
}

// Times reads when the schedule fires. What is wrong with one field is said by [form.In].
func (s *Schedule) Times() (t Times, err error) {
	given := 0
	for _, is := range []bool{s.has(s.At), s.has(s.After), s.Cron != ""} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return t, errTimes
	case s.Cron != "":
		t.Cron, err = ParseCron(s.Cron, s.Zone)
		return t, err
	case s.Zone != "":
		return t, form.In("zone", errors.New("zone is for cron: write the offset into at, for example 2026-12-24T18:00:00+01:00"))
	case s.Missed != "":
		return t, form.In("missed", errors.New("missed is for cron: a single time that passed while the venue was down fires when it is up"))
	case s.has(s.At):
		t.At, err = parseAt(s.At)
	default:
		t.After, err = parseAfter(s.After)
	}
	return t, err
}

func (*Schedule) has(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && string(raw) != "null"
}

func parseAt(raw json.RawMessage) (t time.Time, err error) {
	var ms int64
	var text string
	switch {
	case json.Unmarshal(raw, &ms) == nil:
		t = time.UnixMilli(ms)
	case json.Unmarshal(raw, &text) == nil:
		t, err = time.Parse(time.RFC3339, text)
	default:
		err = errors.New("it is neither text nor number")
	}
	if err != nil {
		return t, form.In("at", fmt.Errorf("at %s is no time: write one such as 2026-12-24T18:00:00+01:00", raw))
	}
	if t.UnixMilli() <= 0 || !t.Before(lastTime) {
		return t, form.In("at", fmt.Errorf("at %s lies outside the years 1970 to 9999", raw))
	}
	return t, nil
}

// Bounds of after.
const (
	minAfter = time.Second
	maxAfter = 100 * 365 * 24 * time.Hour
)

func parseAfter(raw json.RawMessage) (d time.Duration, err error) {
	var ms int64
	var text string
	switch {
	case json.Unmarshal(raw, &ms) == nil:
		most := maxAfter.Milliseconds() + 1
		d = time.Duration(min(max(ms, -most), most)) * time.Millisecond
	case json.Unmarshal(raw, &text) == nil:
		d, err = time.ParseDuration(text)
	default:
		err = errors.New("it is neither text nor number")
	}
	if err != nil {
		return 0, fmt.Errorf("after %s is no duration: write milliseconds, or a text such as 90m or 36h", raw)
	}
	if d < minAfter || d > maxAfter {
		return 0, fmt.Errorf("after is %s: give at least %s, and at most 100 years", d, minAfter)
	}
	return d, nil
}

var nameForm = value.Form(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// CheckName says what is wrong with the name of a schedule.
func CheckName(name string) error {
	if !nameForm().MatchString(name) {
		return fmt.Errorf("name of a schedule %q: use 1 to 64 letters, digits, '_', '-' or '.', beginning with a letter or digit", name)
	}
	return nil
}

// maxNote bounds a note, in bytes.
const maxNote = 1 << 10

// Check says what is wrong with the schedule itself, of one field by [form.In].
func (s *Schedule) Check() error {
	if s.Name != "" {
		if err := CheckName(s.Name); err != nil {
			return err
		}
	}
	if s.Overwrite && s.Name == "" {
		return errors.New("overwrite replaces the schedule of a name: give the name")
	}
	if len(s.Note) > maxNote {
		return form.In("note", fmt.Errorf("note has %d bytes, at most %d", len(s.Note), maxNote))
	}
	switch s.Missed {
	case "", MissedFire, MissedSkip:
	default:
		return fmt.Errorf("missed is %q: write %s or %s", s.Missed, MissedFire, MissedSkip)
	}
	_, err := s.Times()
	return err
}
