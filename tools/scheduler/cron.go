package scheduler

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"usher/tools/form"
)

// Timetable are the times of a cron expression in a time zone. The zero value has none.
//
// On a day when the clock of the zone is set forward, what falls into the hour that
// is left out fires once, at its end; on a day when it is set back, what falls into
// the hour that comes twice fires in the first of the two alone. An expression of
// every hour goes by what has passed instead: it fires in both, and nothing is missing.
type Timetable struct {
	spec      *cron.SpecSchedule // of wall clocks, as if they were UTC
	zone      *time.Location
	everyHour bool
}

// fields reads the five fields and nothing else: no seconds, no names such as @daily.
var fields = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// maxCron bounds an expression, in bytes.
const maxCron = 256

// ParseCron reads a cron expression of five fields, and the IANA name of a time zone,
// where "" is UTC. Its times are never less than a minute apart.
func ParseCron(text, zone string) (Timetable, error) {
	at, err := parseZone(zone)
	if err != nil {
		return Timetable{}, err
	}
	const advice = "write five fields: minute, hour, day of the month, month and day of the week, for example 0 9 * * 1-5"
	if len(text) > maxCron {
		return Timetable{}, form.In("cron", fmt.Errorf("cron has %d bytes, at most %d: %s", len(text), maxCron, advice))
	}
	if strings.ContainsAny(text, "=@") {
		return Timetable{}, form.In("cron", fmt.Errorf("cron %q: %s; a time zone belongs into zone", text, advice))
	}
	parsed, err := fields.Parse(text)
	spec, ok := parsed.(*cron.SpecSchedule)
	if err != nil || !ok {
		return Timetable{}, form.In("cron", fmt.Errorf("cron %q: %w: %s", text, err, advice))
	}
	spec.Location = time.UTC
	const hours = 1<<24 - 1
	t := Timetable{spec: spec, zone: at, everyHour: spec.Hour&hours == hours}
	if t.spec.Next(time.Unix(0, 0).UTC()).IsZero() {
		return Timetable{}, form.In("cron", fmt.Errorf("cron %q never comes: there is no such day", text))
	}
	return t, nil
}

func parseZone(name string) (*time.Location, error) {
	at, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, form.In("zone", fmt.Errorf("zone %q is unknown here: write an IANA name, for example Europe/Berlin", name))
	}
	return at, nil
}

// wallTime is a moment as the wall clocks of a zone with that offset show it.
func wallTime(t time.Time, offset int) time.Time {
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// Next returns the first of the times after a moment; zero where none comes within
// five years.
func (t Timetable) Next(after time.Time) time.Time {
	if t.spec == nil {
		return time.Time{}
	}
	at := after.In(t.zone)
	_, offset := at.Zone()
	begin, end := at.ZoneBounds()
	from := wallTime(at, offset)
	if !begin.IsZero() && !t.everyHour {
		_, before := begin.Add(-1).Zone()
		if passed := wallTime(begin, before).Add(-1); passed.After(from) { // it was shown already
			from = passed
		}
	}
	for {
		wall := t.spec.Next(from)
		if wall.IsZero() {
			return wall
		}
		next := wall.Add(-time.Duration(offset) * time.Second)
		if end.IsZero() || next.Before(end) {
			return next.In(t.zone)
		}
		before := offset
		_, offset = end.Zone()
		from = wallTime(end, offset).Add(-1)
		if !t.everyHour {
			if !wall.After(from) { // the clocks leave it out
				return end
			}
			if passed := wallTime(end, before).Add(-1); passed.After(from) {
				from = passed
			}
		}
		_, end = end.ZoneBounds()
	}
}

// MaxCounted is how many times that passed are counted; more are told as so many.
const MaxCounted = 1000

// CountTo returns the last of the times up to now, and how many there are from first
// on, which is one of them and not after now. More than [MaxCounted] count as that.
func (t Timetable) CountTo(first, now time.Time) (last time.Time, count int) {
	upTo := func(after time.Time) (time.Time, bool) {
		next := t.Next(after)
		return next, !next.IsZero() && !next.After(now)
	}
	last, count = first, 1
	for count < MaxCounted {
		next, is := upTo(last)
		if !is {
			return last, count
		}
		last, count = next, count+1
	}
	for none := now; none.Sub(last) > time.Minute; { // there is none after it
		middle := last.Add(none.Sub(last) / 2)
		if next, is := upTo(middle); is {
			last = next
		} else {
			none = middle
		}
	}
	for {
		next, is := upTo(last)
		if !is {
			return last, count
		}
		last = next
	}
}
