package tools_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/robfig/cron/v3"
	"pgregory.net/rapid"

	"usher/tools/scheduler"
)

func table(t testing.TB, text, zone string) scheduler.Timetable {
	t.Helper()
	tt, err := scheduler.ParseCron(text, zone)
	if err != nil {
		t.Fatal(err)
	}
	return tt
}

func moment(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// A time that does not exist fires once, at the end of the hour that is left out; one
// that comes twice fires once, the first time. What fires each hour goes on doing so.
func TestDaylightSaving(t *testing.T) {
	for _, tt := range []struct {
		name, cron, zone, after string
		want                    []string
	}{
		{
			"a time that does not exist", "30 2 * * *", "Europe/Berlin", "2026-03-27T12:00:00+01:00",
			[]string{"2026-03-28T02:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"},
		},
		{
			"two times that do not exist", "0,30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00+01:00",
			[]string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00"},
		},
		{
			"one that does not exist and one just behind", "0 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00:00+01:00",
			[]string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00"},
		},
		{
			"one before and one behind", "59 1,3 * * *", "Europe/Berlin", "2026-03-29T00:00:00+01:00",
			[]string{"2026-03-29T01:59:00+01:00", "2026-03-29T03:59:00+02:00", "2026-03-30T01:59:00+02:00"},
		},
		{
			"the day it does not exist is not one of its days", "30 2 * * 1", "Europe/Berlin", "2026-03-28T12:00:00+01:00",
			[]string{"2026-03-30T02:30:00+02:00"},
		},
		{
			"a time that comes twice", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00+02:00",
			[]string{"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"},
		},
		{
			"after its first pass", "30 2 * * *", "Europe/Berlin", "2026-10-25T02:40:00+02:00",
			[]string{"2026-10-26T02:30:00+01:00"},
		},
		{
			"within its second pass", "30 2 * * *", "Europe/Berlin", "2026-10-25T02:10:00+01:00",
			[]string{"2026-10-26T02:30:00+01:00"},
		},
		{
			"the end of the hour that comes twice", "0 2,3 * * *", "Europe/Berlin", "2026-10-25T01:00:00+02:00",
			[]string{"2026-10-25T02:00:00+02:00", "2026-10-25T03:00:00+01:00"},
		},
		{
			"every hour, when it is set back", "0 * * * *", "Europe/Berlin", "2026-10-25T01:30:00+02:00",
			[]string{"2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00", "2026-10-25T03:00:00+01:00"},
		},
		{
			"every half hour, when it is set forward", "*/30 * * * *", "Europe/Berlin", "2026-03-29T01:15:00+01:00",
			[]string{"2026-03-29T01:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-29T03:30:00+02:00"},
		},
		{
			"every other hour, when it is set back", "0 */2 * * *", "Europe/Berlin", "2026-10-25T00:30:00+02:00",
			[]string{"2026-10-25T02:00:00+02:00", "2026-10-25T04:00:00+01:00"},
		},
		{
			"half an hour that is left out", "10,40 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00+10:30",
			[]string{"2026-10-04T02:30:00+11:00", "2026-10-04T02:40:00+11:00", "2026-10-05T02:10:00+11:00"},
		},
		{
			"a midnight that does not exist", "0 0 * * *", "Africa/Cairo", "2025-04-24T12:00:00+02:00",
			[]string{"2025-04-25T01:00:00+03:00", "2025-04-26T00:00:00+03:00"},
		},
		{
			"a day that does not exist", "0 12 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00-10:00",
			[]string{"2011-12-31T00:00:00+14:00", "2012-12-30T12:00:00+14:00"},
		},
		{
			"a leap day", "0 12 29 2 *", "UTC", "2026-01-01T00:00:00Z",
			[]string{"2028-02-29T12:00:00Z", "2032-02-29T12:00:00Z"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			times := table(t, tt.cron, tt.zone)
			at := moment(t, tt.after)
			var got []string
			for range tt.want {
				at = times.Next(at)
				got = append(got, at.Format(time.RFC3339))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("times (-want +got):\n%s", diff)
			}
		})
	}
}

// slowNext walks through the minutes: it fires when the wall clock first shows a time or
// a later one, and what fires each hour whenever it shows one.
func slowNext(t testing.TB, text, zone string, after time.Time, minutes int) time.Time {
	t.Helper()
	parsed, err := cron.ParseStandard(text)
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	spec := parsed.(*cron.SpecSchedule)
	spec.Location = time.UTC
	everyHour := spec.Hour<<40 == 1<<64-1<<40
	wall := func(m time.Time) time.Time {
		_, offset := m.In(at).Zone()
		return m.UTC().Add(time.Duration(offset) * time.Second)
	}
	is := func(w time.Time) bool { return spec.Next(w.Add(-1)).Equal(w) }
	m := after.Truncate(time.Minute).Add(-48 * time.Hour)
	highest := wall(m)
	for range minutes + 48*60 {
		m = m.Add(time.Minute)
		now := wall(m)
		fires := everyHour && is(now)
		if !everyHour && now.After(highest) {
			for w := highest.Add(time.Minute); !w.After(now); w = w.Add(time.Minute) {
				fires = fires || is(w)
			}
		}
		if now.After(highest) {
			highest = now
		}
		if fires && m.After(after) {
			return m
		}
	}
	return time.Time{}
}

func TestNextTwin(t *testing.T) {
	pivots := []struct{ zone, at string }{
		{"Europe/Berlin", "2026-03-29T01:00:00Z"},
		{"Europe/Berlin", "2026-10-25T01:00:00Z"},
		{"America/New_York", "2026-03-08T07:00:00Z"},
		{"America/New_York", "2026-11-01T06:00:00Z"},
		{"Australia/Lord_Howe", "2026-10-03T15:30:00Z"},
		{"Australia/Lord_Howe", "2026-04-04T15:00:00Z"},
		{"Africa/Cairo", "2025-04-24T22:00:00Z"},
		{"America/Sao_Paulo", "2018-11-04T03:00:00Z"},
		{"America/Sao_Paulo", "2019-02-17T02:00:00Z"},
		{"Pacific/Apia", "2011-12-30T10:00:00Z"},
		{"Asia/Kathmandu", "2026-03-29T01:00:00Z"},
	}
	rapid.Check(t, func(r *rapid.T) {
		pivot := rapid.SampledFrom(pivots).Draw(r, "pivot")
		field := func(label string, low, high int) string {
			switch rapid.IntRange(0, 3).Draw(r, label) {
			case 0:
				return "*"
			case 1:
				return "*/" + strconv.Itoa(rapid.IntRange(2, high/2).Draw(r, label+" step"))
			}
			var list []string
			for range rapid.IntRange(1, 3).Draw(r, label+" many") {
				list = append(list, strconv.Itoa(rapid.IntRange(low, high).Draw(r, label+" value")))
			}
			return strings.Join(list, ",")
		}
		text := field("minute", 0, 59) + " " + field("hour", 0, 4) + " * * " + rapid.SampledFrom([]string{"*", "0", "6,0", "1-5"}).Draw(r, "day")
		after := moment(t, pivot.at).Add(time.Duration(rapid.IntRange(-180, 180).Draw(r, "minutes")) * time.Minute)
		const minutes = 3 * 24 * 60
		want, got := slowNext(t, text, pivot.zone, after, minutes), table(t, text, pivot.zone).Next(after)
		if want.IsZero() && got.After(after.Add(minutes*time.Minute-time.Minute)) {
			return
		}
		if !got.Equal(want) {
			r.Errorf("%s in %s after %s: Next = %s, want %s", text, pivot.zone, after, got, want)
		}
	})
}

func TestPassed(t *testing.T) {
	first := moment(t, "2026-11-22T09:00:00Z")
	for _, tt := range []struct {
		name, cron, now, last string
		count                 int
	}{
		{"the first alone", "0 9 * * *", "2026-11-22T09:00:00Z", "2026-11-22T09:00:00Z", 1},
		{"just before the next", "0 9 * * *", "2026-11-23T08:59:59Z", "2026-11-22T09:00:00Z", 1},
		{"three", "0 9 * * *", "2026-11-24T11:20:00Z", "2026-11-24T09:00:00Z", 3},
		{"more than are counted", "* * * * *", "2036-11-22T09:00:30Z", "2036-11-22T09:00:00Z", scheduler.MaxCounted},
		{"many that come at once, long ago", "* 9 22 11 *", "2027-11-01T00:00:00Z", "2026-11-22T09:59:00Z", 60},
	} {
		t.Run(tt.name, func(t *testing.T) {
			last, count := table(t, tt.cron, "").CountTo(first, moment(t, tt.now))
			if !last.Equal(moment(t, tt.last)) || count != tt.count {
				t.Errorf("Passed = %s, %d; want %s, %d", last, count, tt.last, tt.count)
			}
		})
	}
}

// What Passed finds by halves is what walking finds.
func TestPassedTwin(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		times := table(t, strconv.Itoa(random.IntN(60))+" */"+strconv.Itoa(1+random.IntN(12))+" * * "+strconv.Itoa(random.IntN(7)), "Europe/Berlin")
		first := times.Next(moment(t, "2026-01-01T00:00:00Z"))
		now := first.Add(time.Duration(random.IntN(10_000)) * time.Hour)
		want, many := first, 1
		for next := times.Next(first); !next.After(now); next = times.Next(next) {
			want, many = next, many+1
		}
		last, count := times.CountTo(first, now)
		if !last.Equal(want) || count != min(many, scheduler.MaxCounted) {
			t.Errorf("Passed = %s, %d; want %s, %d", last, count, want, many)
		}
	}
}

func TestParseCronRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ cron, zone, want string }{
		"four fields":        {"0 9 * *", "", "write five fields"},
		"seconds":            {"0 0 9 * * *", "", "write five fields"},
		"a name":             {"@daily", "", "write five fields"},
		"an interval":        {"@every 1s", "", "write five fields"},
		"a zone within":      {"TZ=UTC 0 9 * * *", "", "a time zone belongs into zone"},
		"a zone alone":       {"CRON_TZ=UTC", "", "a time zone belongs into zone"},
		"a minute too high":  {"60 9 * * *", "", "above maximum"},
		"a step of nothing":  {"*/0 9 * * *", "", "step"},
		"a day that is none": {"0 9 30 2 *", "", "never comes"},
		"an unknown zone":    {"0 9 * * *", "Europe/Berlinn", "zone \"Europe/Berlinn\" is unknown"},
		"the local zone":     {"0 9 * * *", "Local", "zone \"Local\" is unknown"},
		"a path as a zone":   {"0 9 * * *", "../../etc/passwd", "is unknown"},
		"a long one":         {strings.Repeat("1,", 200) + "1 9 * * *", "", "at most 256"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := scheduler.ParseCron(tt.cron, tt.zone); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("ParseCron = %v, want %q", err, tt.want)
			}
		})
	}
}

// Whatever parses has times, each after the one before and a minute from it at least.
func FuzzParseCron(f *testing.F) {
	for _, text := range []string{"* * * * *", "0 9 * * 1-5", "*/5 0-3,22 1,15 JAN-MAR sun", "0 0 31 2 *", "TZ= ", "60 * * * *", "1/2/3 * * * *", "?,* ? ? ? ?"} {
		f.Add(text, "Europe/Berlin")
	}
	f.Fuzz(func(t *testing.T, text, zone string) {
		times, err := scheduler.ParseCron(text, zone)
		if err != nil {
			return
		}
		at := time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)
		var all []time.Time
		for range 5 {
			next := times.Next(at)
			if next.IsZero() {
				break
			}
			if n := len(all); n > 0 && next.Sub(all[n-1]) < time.Minute {
				t.Fatalf("%q: %s is less than a minute after %s", text, next, all[n-1])
			}
			all, at = append(all, next), next
		}
		if !slices.IsSortedFunc(all, time.Time.Compare) {
			t.Errorf("%q: %v", text, all)
		}
	})
}
