package venue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
	"usher/tools/fault"
	"usher/tools/scheduler"
	"usher/venue"
	"usher/venue/config"
	"usher/venue/runs"
)

// timed is a venue that can be opened again, whose clock is that of the bubble and what
// it is wrong by. Its operation test:mark says that it ran.
type timed struct {
	t     *testing.T
	dir   string
	wrong atomic.Int64
	marks atomic.Int64
	held  chan struct{} // until it is closed, test:hold waits
	opts  venue.Options
	v     *venue.Venue
	alice *venue.User
	model *puppet
}

// inTime runs a test with a venue in a bubble, in memory where dir is empty.
func inTime(t *testing.T, dir string, f func(t *testing.T, w *timed)) {
	synctest.Test(t, func(t *testing.T) {
		w := &timed{t: t, dir: dir, model: new(puppet), held: make(chan struct{})}
		w.open()
		f(t, w)
		w.close()
	})
}

func (w *timed) now() time.Time { return time.Now().Add(time.Duration(w.wrong.Load())) }

func (w *timed) open() {
	w.t.Helper()
	needs := func(struct{}) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} }
	mark := tools.New("test:mark", "Say that it ran.", needs,
		func(context.Context, tools.Call, struct{}) (int64, error) { return w.marks.Add(1), nil }, tools.Within(caps.ScopeAbility("invoke")))
	hold := tools.New("test:hold", "Wait.", needs,
		func(context.Context, tools.Call, struct{}) (bool, error) { <-w.held; return true, nil }, tools.Within(caps.ScopeAbility("invoke")))
	o := w.opts
	o.Dir, o.Now, o.Models, o.Tools = w.dir, w.now, map[string]runtime.Model{"default": w.model}, []*tools.Operation{mark, hold}
	v, err := venue.Open(w.t.Context(), &o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.v, w.alice = v, user(w.t, v, "alice")
	synctest.Wait()
}

func (w *timed) close() {
	w.t.Helper()
	if err := w.v.Close(); err != nil {
		w.t.Fatal(err)
	}
}

// sleep lets time pass, and what is due then happen.
func (w *timed) sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// set makes the clock wrong, which is noticed within a minute.
func (w *timed) set(wrong time.Duration) {
	w.wrong.Store(int64(wrong))
	w.sleep(time.Minute)
}

// schedule schedules for a user.
func (w *timed) schedule(u *venue.User, input string) scheduler.ScheduleResult {
	w.t.Helper()
	var made scheduler.ScheduleResult
	if err := json.Unmarshal([]byte(invoke(w.t, u, "scheduler:schedule", input)), &made); err != nil {
		w.t.Fatal(err)
	}
	return made
}

// list is what scheduler:list answers a user.
func (w *timed) list(u *venue.User, input string) []scheduler.Event {
	w.t.Helper()
	var l scheduler.Listing
	if err := json.Unmarshal([]byte(invoke(w.t, u, "scheduler:list", input)), &l); err != nil {
		w.t.Fatal(err)
	}
	return l.Events
}

// fired are the jobs of schedules, the first one first.
func (w *timed) fired() (jobs []runs.Record) {
	w.t.Helper()
	list, _, err := w.alice.Runs(w.t.Context(), "", 10_000)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Fired != nil {
			jobs = append(jobs, list[i])
		}
	}
	return jobs
}

// ran wants so many jobs of schedules, each complete and with its effect.
func (w *timed) ran(n int) {
	w.t.Helper()
	jobs := w.fired()
	if len(jobs) != n || w.marks.Load() != int64(n) {
		w.t.Errorf("%d jobs of schedules and %d effects, want %d", len(jobs), w.marks.Load(), n)
	}
	for _, j := range jobs {
		if j.Status != runs.Complete {
			w.t.Errorf("job %s of %s is %s: %s", j.ID, j.Fired.Schedule, j.Status, j.Error)
		}
	}
}

// clockFace shows times of the bubble, which begins at midnight in 2000.
func clockFace(ms int64) string { return time.UnixMilli(ms).UTC().Format("15:04:05") }

func TestAScheduleFiresOnceForEachOfItsTimes(t *testing.T) {
	for _, tt := range []struct {
		name, input string
		after       time.Duration
		want        int
		left        int // schedules
	}{
		{"after, before its time", `"after":"90m"`, 89 * time.Minute, 0, 1},
		{"after", `"after":"90m"`, 90 * time.Minute, 1, 0},
		{"after, in milliseconds", `"after":5000`, 5 * time.Second, 1, 0},
		{"at", `"at":"2000-01-01T02:00:00+01:00"`, time.Hour, 1, 0},
		{"at, in milliseconds", `"at":946688400000`, time.Hour, 1, 0},
		{"at, a day later", `"at":"2000-01-01T01:00:00Z"`, 24 * time.Hour, 1, 0},
		{"cron", `"cron":"*/15 * * * *"`, 2 * time.Hour, 8, 1},
		{"cron in a zone", `"cron":"0 9 * * *","zone":"Asia/Tokyo"`, 48 * time.Hour, 2, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inTime(t, "", func(t *testing.T, w *timed) {
				w.schedule(w.alice, `{"operation":"test:mark","name":"s",`+tt.input+`}`)
				w.sleep(tt.after)
				w.ran(tt.want)
				if left := w.list(w.alice, `{}`); len(left) != tt.left {
					t.Errorf("%d schedules are left, want %d", len(left), tt.left)
				}
				if tt.left == 0 {
					done := w.list(w.alice, `{"done":true}`)
					if len(done) != 1 || done[0].Last == nil || done[0].Last.Status != runs.Complete || done[0].Time != 0 {
						t.Errorf("those that are done: %+v", done)
					}
				}
			})
		})
	}
}

// What passed while the venue was down fires once, late, and says so; or is told alone.
func TestMissedTimes(t *testing.T) {
	for _, tt := range []struct {
		name, input string
		down        time.Duration // from 00:05 on
		want        []runs.Firing
		fired       string
		missed      int
		since       string
		next        string
	}{
		{"a single time", `"after":"10m"`, 20 * time.Minute, []runs.Firing{{Due: 600}}, "00:25:00", 0, "", ""},
		{"one of cron", `"cron":"*/10 * * * *"`, 10 * time.Minute, []runs.Firing{{Due: 600, Missed: 1, Since: 600}}, "00:15:00", 1, "00:10:00", "00:20:00"},
		{"three of cron", `"cron":"*/10 * * * *"`, 30 * time.Minute, []runs.Firing{{Due: 1800, Missed: 3, Since: 600}}, "00:35:00", 3, "00:10:00", "00:40:00"},
		{"two of cron, and the third in time", `"cron":"*/10 * * * *"`, 25 * time.Minute, []runs.Firing{{Due: 1800, Missed: 2, Since: 600}}, "00:30:00", 2, "00:10:00", "00:40:00"},
		{"three of cron that are skipped", `"cron":"*/10 * * * *","missed":"skip"`, 30 * time.Minute, nil, "", 3, "00:10:00", "00:40:00"},
		{"two that are skipped, and the third in time", `"cron":"*/10 * * * *","missed":"skip"`, 25 * time.Minute, []runs.Firing{{Due: 1800, Missed: 2, Since: 600}}, "00:30:00", 2, "00:10:00", "00:40:00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inTime(t, t.TempDir(), func(t *testing.T, w *timed) {
				began := time.Now().UnixMilli()
				w.schedule(w.alice, `{"operation":"test:mark","name":"s",`+tt.input+`}`)
				w.sleep(5 * time.Minute)
				w.close()
				time.Sleep(tt.down)
				w.open()
				w.ran(len(tt.want))
				for i, j := range w.fired() {
					want := tt.want[i]
					want.Schedule, want.Due = "s", began+1000*want.Due
					if want.Since != 0 {
						want.Since = began + 1000*want.Since
					}
					if diff := cmp.Diff(&want, j.Fired); diff != "" || clockFace(j.Created) != tt.fired {
						t.Errorf("it fired at %s, want %s (-want +got):\n%s", clockFace(j.Created), tt.fired, diff)
					}
				}
				if tt.next == "" {
					done := w.list(w.alice, `{"done":true}`)
					if len(done) != 1 || clockFace(done[0].Last.Due) != "00:10:00" || clockFace(done[0].Last.Fired) != tt.fired {
						t.Errorf("the list tells %+v", done)
					}
					return
				}
				s := w.list(w.alice, `{"handle":"s"}`)[0]
				if s.Missed != tt.missed || clockFace(s.Since) != tt.since || clockFace(s.Time) != tt.next {
					t.Errorf("the list tells %d missed since %s, next %s; want %d, %s, %s", s.Missed, clockFace(s.Since), clockFace(s.Time), tt.missed, tt.since, tt.next)
				}
				w.sleep(10 * time.Minute)
				w.ran(len(tt.want) + 1)
			})
		})
	}
}

// A clock that jumps fires nothing twice, and nothing is lost.
func TestSchedulesWhenTheClockJumps(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, tt := range []struct {
		name  string
		jumps func(w *timed)
		// fired are the times that fired, by hours since the beginning; each stands for
		// itself and those that passed.
		fired []int
		again time.Duration // until the next one after the jumps
	}{
		{"back", func(w *timed) { w.sleep(150 * time.Minute); w.set(-2 * time.Hour) }, []int{1, 2}, 150 * time.Minute},
		{"back by years", func(w *timed) { w.sleep(150 * time.Minute); w.set(-3 * year); w.sleep(time.Hour); w.set(0) }, []int{1, 2, 3}, 30 * time.Minute},
		{"forward over three", func(w *timed) { w.sleep(30 * time.Minute); w.set(3 * time.Hour) }, []int{3}, 30 * time.Minute},
		{"forward by years, and back", func(w *timed) { w.sleep(30 * time.Minute); w.set(10 * year); w.set(0) }, []int{87600}, 30 * time.Minute},
		{"forward by years, for two days, and back", func(w *timed) {
			w.sleep(30 * time.Minute)
			w.set(10 * year)
			w.sleep(48 * time.Hour)
			w.set(-48 * time.Hour)
		}, nil, 30 * time.Minute},
		{"forward and back while the venue is down", func(w *timed) {
			w.sleep(30 * time.Minute)
			w.close()
			w.wrong.Store(int64(10 * year))
			w.open()
			w.close()
			w.wrong.Store(0)
			w.open()
		}, []int{87600}, 30 * time.Minute},
		{"forward over one, back, and over it again", func(w *timed) {
			w.sleep(30 * time.Minute)
			w.set(time.Hour)
			w.set(0)
			w.sleep(40 * time.Minute)
		}, []int{1}, 50 * time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := ""
			if strings.Contains(tt.name, "down") {
				dir = t.TempDir()
			}
			inTime(t, dir, func(t *testing.T, w *timed) {
				began := time.Now()
				w.schedule(w.alice, `{"operation":"test:mark","name":"s","cron":"0 * * * *"}`)
				tt.jumps(w)
				var fired []int
				seen := make(map[int64]bool)
				for _, j := range w.fired() {
					if seen[j.Fired.Due] {
						t.Errorf("it fired twice for %s", time.UnixMilli(j.Fired.Due))
					}
					seen[j.Fired.Due] = true
					fired = append(fired, int(time.UnixMilli(j.Fired.Due).Sub(began)/time.Hour))
				}
				if tt.fired != nil {
					if diff := cmp.Diff(tt.fired, fired); diff != "" {
						t.Errorf("the times that fired (-want +got):\n%s", diff)
					}
				}
				before := len(fired)
				w.sleep(tt.again + 2*time.Minute)
				if got := len(w.fired()); got != before+1 {
					t.Errorf("%s later %d more fired, want 1", tt.again, got-before)
				}
				if got := w.marks.Load(); got != int64(len(w.fired())) {
					t.Errorf("%d effects of %d jobs", got, len(w.fired()))
				}
			})
		})
	}
}

// What a schedule may do is what whoever made it may do when it fires: one that was
// narrowed, suspended or ended since is denied, in a row that names the schedule.
func TestAScheduleMayDoWhatItsMakerMayDoThen(t *testing.T) {
	for _, tt := range []struct {
		name, operation, change string
		allowed                 bool
	}{
		{"as it was", "", "", true},
		{"widened", "agent:update", `{"agentId":"carol","config":{"caps":[{"with":"","can":"*"}]}}`, true},
		{"narrowed", "agent:update", `{"agentId":"carol","config":{"caps":[{"with":"w/other","can":"crud"},{"with":"schedules","can":"schedule"}]}}`, false},
		{"suspended", "agent:suspend", `{"agentId":"carol"}`, false},
		{"ended", "agent:delete", `{"agentId":"carol"}`, false},
		{"removed", "agent:delete", `{"agentId":"carol","remove":true}`, false},
		{"another of its id", "agent:create", `{"agentId":"carol","overwrite":true,"config":{"identity":"own"}}`, false},
	} {
		for who, make := range map[string]func(w *timed, carol *venue.Agent){
			"the agent": func(w *timed, carol *venue.Agent) {
				done := attempt(w.t, carol, w.model, "scheduler_schedule", `{"operation":"covia:write","input":{"path":"w/notes/a","value":1},"name":"s","after":"1h"}`)
				if done.Outcome != runtime.ToolOK {
					w.t.Fatal(done.Result)
				}
			},
			"its owner for it": func(w *timed, _ *venue.Agent) {
				w.schedule(w.alice, `{"operation":"covia:write","input":{"path":"w/notes/a","value":1},"name":"s","after":"1h","agent":"carol"}`)
			},
		} {
			t.Run(tt.name+", scheduled by "+who, func(t *testing.T) {
				inTime(t, "", func(t *testing.T, w *timed) {
					s := spec("carol", "", `[{"with":"w/notes","can":"crud"},{"with":"schedules","can":"schedule"}]`)
					s.Tools = append(s.Tools, "scheduler:*")
					make(w, create(t, w.alice, s))
					if tt.operation != "" {
						invoke(t, w.alice, tt.operation, tt.change)
					}
					if e := w.list(w.alice, `{"handle":"s"}`)[0]; e.Agent != "carol" {
						t.Errorf("the list says that it is %q's", e.Agent)
					}
					w.sleep(time.Hour)
					jobs := w.fired()
					if len(jobs) != 1 || (jobs[0].Status == runs.Complete) != tt.allowed || !tt.allowed && jobs[0].Status != runs.Rejected {
						t.Fatalf("the jobs are %+v", jobs)
					}
					if got, want := read(t, w.alice, "w/notes/a"), fmt.Sprintf(`"exists":%v`, tt.allowed); !strings.Contains(got, want) {
						t.Errorf("w/notes/a is %s", got)
					}
					var verdicts []string
					for row, err := range w.v.Audit(t.Context(), 1) {
						if err != nil {
							t.Fatal(err)
						}
						if row.Entry != nil && row.Schedule == "s" {
							verdicts = append(verdicts, row.Verdict+" "+row.Operation+" by "+row.Actor+" in "+row.Job)
						}
					}
					want := []string{map[bool]string{true: "allow", false: "deny"}[tt.allowed] + " v/ops/covia/write by carol in " + jobs[0].ID}
					if diff := cmp.Diff(want, verdicts); diff != "" {
						t.Errorf("rows that name the schedule (-want +got):\n%s", diff)
					}
				})
			})
		}
	}
}

// What a person has to approve is scheduled, and asked for when it fires; a capability
// that has ended by then allows nothing.
func TestTermsHoldWhenAScheduleFires(t *testing.T) {
	for _, tt := range []struct{ name, caps, verdict string }{
		{"ask", `[{"with":"w/notes","can":"crud","ask":true}]`, tools.Asked},
		{"until, before it", `[{"with":"w/notes","can":"crud","until":"2000-01-01T02:00:00Z"}]`, tools.Allowed},
		{"until, after it", `[{"with":"w/notes","can":"crud","until":"2000-01-01T00:30:00Z"}]`, tools.Denied},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inTime(t, "", func(t *testing.T, w *timed) {
				create(t, w.alice, spec("carol", "", tt.caps))
				w.schedule(w.alice, `{"operation":"covia:write","input":{"path":"w/notes/a","value":1},"name":"s","after":"1h","agent":"carol"}`)
				w.sleep(time.Hour)
				jobs := w.fired()
				if len(jobs) != 1 || (jobs[0].Status == runs.Complete) != (tt.verdict == tools.Allowed) {
					t.Errorf("the jobs are %+v", jobs)
				}
				if got, want := read(t, w.alice, "w/notes/a"), fmt.Sprintf(`"exists":%v`, tt.verdict == tools.Allowed); !strings.Contains(got, want) {
					t.Errorf("w/notes/a is %s", got)
				}
				for row, err := range w.v.Audit(t.Context(), 1) {
					if err != nil {
						t.Fatal(err)
					}
					if row.Entry != nil && row.Schedule == "s" && row.Verdict != tt.verdict {
						t.Errorf("the ledger says %s, want %s", row.Verdict, tt.verdict)
					}
				}
			})
		})
	}
}

// Scheduling needs the capability on the schedule, and what the call inside needs.
func TestSchedulingIsForThoseWhoMay(t *testing.T) {
	const write = `{"operation":"covia:write","input":{"path":"w/notes/a","value":1},"after":"1h"`
	for _, tt := range []struct{ name, caps, operation, input, want string }{
		{"all of it", `[{"with":"w/notes","can":"crud"},{"with":"schedules","can":"schedule/create"}]`, "schedule", write + `}`, ""},
		{"one by its name", `[{"with":"w/notes","can":"crud"},{"with":"schedules/mine","can":"schedule/create"}]`, "schedule", write + `,"name":"mine"}`, ""},
		{"without the ability", `[{"with":"w/notes","can":"crud"}]`, "schedule", write + `}`, "requires schedule/create on schedules"},
		{"another than its own", `[{"with":"w/notes","can":"crud"},{"with":"schedules/mine","can":"schedule"}]`, "schedule", write + `,"name":"minefield"}`, "requires schedule/create on schedules/minefield"},
		{"without a name", `[{"with":"w/notes","can":"crud"},{"with":"schedules/mine","can":"schedule"}]`, "schedule", write + `}`, "requires schedule/create on schedules."},
		{"without the call inside", `[{"with":"schedules","can":"schedule"}]`, "schedule", write + `}`, "v/ops/covia/write requires crud/write on w/notes/a"},
		{"in place of another", `[{"with":"w/notes","can":"crud"},{"with":"schedules","can":"schedule/create"}]`, "schedule", write + `,"name":"owners","overwrite":true}`, "requires schedule/cancel on schedules/owners"},
		{"as another", `[{"with":"","can":"*"}]`, "schedule", write + `,"agent":"dave"}`, "only the owner in person"},
		{"at once", `[{"with":"w/notes","can":"crud"},{"with":"schedules","can":"schedule"}]`, "schedule", `{"operation":"covia:read","input":{"path":"w/notes"},"after":"59s"}`, "at least 1m0s ahead"},
		{"a list without the ability", `[{"with":"w/","can":"crud"}]`, "list", `{}`, "requires schedule/read on schedules"},
		{"a list of one", `[{"with":"schedules/owners","can":"schedule/read"}]`, "list", `{"handle":"owners"}`, ""},
		{"cancelling", `[{"with":"schedules","can":"schedule/read"}]`, "cancel", `{"handle":"owners"}`, "requires schedule/cancel on schedules/owners"},
		{"triggering", `[{"with":"schedules","can":"schedule/read"}]`, "trigger", `{"handle":"owners"}`, "requires schedule/trigger on schedules/owners"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inTime(t, "", func(t *testing.T, w *timed) {
				w.schedule(w.alice, `{"operation":"test:mark","name":"owners","cron":"0 9 * * *"}`)
				create(t, w.alice, spec("dave", "", ""))
				s := spec("carol", "", tt.caps)
				s.Tools = append(s.Tools, "scheduler:*")
				done := attempt(t, create(t, w.alice, s), w.model, "scheduler_"+tt.operation, tt.input)
				if (tt.want == "") != (done.Outcome == runtime.ToolOK) || !strings.Contains(done.Result, tt.want) {
					t.Errorf("%s: %s, want %q", done.Outcome, done.Result, tt.want)
				}
				want := 1
				if tt.want == "" && tt.operation == "schedule" {
					want = 2
				}
				if list := w.list(w.alice, `{}`); len(list) != want {
					t.Errorf("%d schedules are there, want %d", len(list), want)
				}
			})
		})
	}
}

// Who triggers a schedule bounds what it does, beside whoever made it.
func TestATriggeredScheduleIsBoundedByBoth(t *testing.T) {
	inTime(t, "", func(t *testing.T, w *timed) {
		w.schedule(w.alice, `{"operation":"covia:write","input":{"path":"w/secret/a","value":1},"name":"s","cron":"0 9 * * *"}`)
		s := spec("carol", "", `[{"with":"w/notes","can":"crud"},{"with":"schedules","can":"schedule"}]`)
		s.Tools = append(s.Tools, "scheduler:*")
		if done := attempt(t, create(t, w.alice, s), w.model, "scheduler_trigger", `{"handle":"s"}`); done.Outcome != runtime.ToolOK {
			t.Fatal(done.Result)
		}
		synctest.Wait()
		jobs := w.fired()
		if len(jobs) != 1 || jobs[0].Status != runs.Rejected || jobs[0].Fired.Due != 0 {
			t.Errorf("triggered by carol the job is %+v", jobs)
		}
		invoke(t, w.alice, "scheduler:trigger", `{"handle":"s"}`)
		synctest.Wait()
		if jobs = w.fired(); len(jobs) != 2 || jobs[1].Status != runs.Complete {
			t.Errorf("triggered by its owner the jobs are %+v", jobs)
		}
		if e := w.list(w.alice, `{"handle":"s"}`)[0]; clockFace(e.Time) != "09:00:00" || e.Last.Job != jobs[1].ID {
			t.Errorf("triggered beside its times it is %+v", e)
		}
		w.sleep(9 * time.Hour)
		if jobs = w.fired(); len(jobs) != 3 || jobs[2].Fired.Due == 0 {
			t.Errorf("at its time the jobs are %+v", jobs)
		}
	})
}

// Another user's schedules look like none.
func TestSchedulesAreTheirOwners(t *testing.T) {
	inTime(t, "", func(t *testing.T, w *timed) {
		w.schedule(w.alice, `{"operation":"test:mark","name":"s","cron":"0 9 * * *"}`)
		bob := user(t, w.v, "bob")
		if list := w.list(bob, `{}`); len(list) != 0 {
			t.Errorf("bob sees %+v", list)
		}
		for _, operation := range []string{"list", "cancel", "trigger"} {
			for _, handle := range []string{"s", "nothing"} {
				_, err := bob.Invoke(t.Context(), "scheduler:"+operation, map[string]string{"handle": handle})
				if fault.Of(err) != fault.NotFound || err.Error() != fmt.Sprintf("there is no schedule %q", handle) {
					t.Errorf("bob's %s of %s: %v", operation, handle, err)
				}
			}
		}
		w.schedule(bob, `{"operation":"test:mark","name":"s","cron":"0 10 * * *"}`)
		invoke(t, bob, "scheduler:cancel", `{"handle":"s"}`)
		if list := w.list(w.alice, `{}`); len(list) != 1 {
			t.Errorf("when bob has cancelled his, alice has %+v", list)
		}
	})
}

func TestWhatCannotBeScheduled(t *testing.T) {
	inTime(t, "", func(t *testing.T, w *timed) {
		w.schedule(w.alice, `{"operation":"test:mark","name":"taken","cron":"0 9 * * *"}`)
		for name, tt := range map[string]struct{ input, want string }{
			"no time":                   {`{"operation":"test:mark"}`, "exactly one of at, after and cron"},
			"two times":                 {`{"operation":"test:mark","after":"1h","cron":"0 9 * * *"}`, "exactly one of at, after and cron"},
			"a time that has passed":    {`{"operation":"test:mark","at":"1999-12-31T00:00:00Z"}`, "has passed: give a time to come"},
			"a time that is none":       {`{"operation":"test:mark","at":"tomorrow"}`, "is no time"},
			"a time beyond all":         {`{"operation":"test:mark","at":1000000000000000000}`, "outside the years"},
			"a time too soon":           {`{"operation":"test:mark","after":"1ms"}`, "at least 1s"},
			"a time before":             {`{"operation":"test:mark","after":-5}`, "at least 1s"},
			"a zone without cron":       {`{"operation":"test:mark","after":"1h","zone":"UTC"}`, "zone is for cron"},
			"missed without cron":       {`{"operation":"test:mark","after":"1h","missed":"skip"}`, "missed is for cron"},
			"missed otherwise":          {`{"operation":"test:mark","cron":"0 9 * * *","missed":"no"}`, "write fire or skip"},
			"seconds":                   {`{"operation":"test:mark","cron":"0 0 9 * * *"}`, "write five fields"},
			"no operation":              {`{"operation":" ","after":"1h"}`, "operation is missing"},
			"no such operation":         {`{"operation":"test:marc","after":"1h"}`, "operation not found"},
			"input that is none":        {`{"operation":"test:mark","input":7,"after":"1h"}`, "not a JSON object"},
			"input that does not fit":   {`{"operation":"covia:read","input":{"path":7},"after":"1h"}`, "invalid input for v/ops/covia/read"},
			"a name that is taken":      {`{"operation":"test:mark","name":"taken","after":"1h"}`, "there is a schedule taken"},
			"a name that is a path":     {`{"operation":"test:mark","name":"a/b","after":"1h"}`, "name of a schedule"},
			"overwrite without a name":  {`{"operation":"test:mark","overwrite":true,"after":"1h"}`, "give the name"},
			"an agent that is not":      {`{"operation":"test:mark","agent":"nobody","after":"1h"}`, "there is no agent"},
			"a secret":                  {`{"operation":"secret:set","input":{"name":"A","value":"b"},"after":"1h"}`, "answers direct calls only"},
			"what is much too long":     {`{"operation":"covia:write","input":{"path":"w/a","value":"` + strings.Repeat("x", 400_000) + `"},"after":"1h"}`, "put what is long into the workspace"},
			"a secret within a program": {`{"operation":"grid:run","input":{"operation":"secret:set","input":{"name":"A","value":"b"}},"after":"1h"}`, "answers direct calls only"},
		} {
			if _, err := w.alice.Invoke(t.Context(), "scheduler:schedule", json.RawMessage(tt.input)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want %q", name, err, tt.want)
			}
		}
		if list := w.list(w.alice, `{}`); len(list) != 1 {
			t.Errorf("of what was refused there is %+v", list)
		}
	})
}

// A user has so many schedules, of which one agent makes a quarter; those that are
// cancelled, and those that have fired, count no more.
func TestSchedulesAreBounded(t *testing.T) {
	inTime(t, t.TempDir(), func(t *testing.T, w *timed) {
		w.close()
		w.opts.Limits = config.Limits{Schedules: 8}
		w.open()
		s := spec("carol", "", "")
		s.Tools = append(s.Tools, "scheduler:*")
		carol := create(t, w.alice, s)
		for n := range 3 {
			done := attempt(t, carol, w.model, "scheduler_schedule", fmt.Sprintf(`{"operation":"test:mark","name":"c%d","after":"1m"}`, n))
			if n < 2 != (done.Outcome == runtime.ToolOK) || n == 2 && !strings.Contains(done.Result, "agent carol has 2 schedules, as many as an agent may: cancel some, or raise limits.schedules") {
				t.Fatalf("schedule %d of carol: %s", n, done.Result)
			}
		}
		for n := range 6 {
			w.schedule(w.alice, fmt.Sprintf(`{"operation":"test:mark","name":"a%d","cron":"0 9 * * *"}`, n))
		}
		more := func(want string) {
			t.Helper()
			_, err := w.alice.Invoke(t.Context(), "scheduler:schedule", json.RawMessage(`{"operation":"test:mark","name":"more","after":"2h"}`))
			if got := fmt.Sprint(err); !strings.Contains(got, want) {
				t.Errorf("one more: %s, want %s", got, want)
			}
		}
		more("there are 8 schedules, as many as may be")
		invoke(t, w.alice, "scheduler:cancel", `{"handle":"a0"}`)
		w.schedule(w.alice, `{"operation":"test:mark","name":"a1","cron":"0 8 * * *","overwrite":true}`)
		more("<nil>")
		more("there is a schedule more")
		w.sleep(time.Minute) // carol's fire
		w.schedule(w.alice, `{"operation":"test:mark","name":"b1","after":"2h"}`)
		w.schedule(w.alice, `{"operation":"test:mark","name":"b2","after":"2h"}`)
		if _, err := w.alice.Invoke(t.Context(), "scheduler:schedule", json.RawMessage(`{"operation":"test:mark","after":"2h"}`)); err == nil {
			t.Error("nine schedules are there")
		}
	})
}

// A venue that is idle leaves schedules alone, but for what it is told to do.
func TestAnIdleVenueFiresNothing(t *testing.T) {
	inTime(t, t.TempDir(), func(t *testing.T, w *timed) {
		w.close()
		w.opts.Idle = true
		w.open()
		w.schedule(w.alice, `{"operation":"test:mark","name":"s","after":"1m"}`)
		w.sleep(2 * time.Minute)
		w.ran(0)
		invoke(t, w.alice, "scheduler:trigger", `{"handle":"s"}`)
		synctest.Wait()
		w.ran(1)
		w.close()
		w.opts.Idle = false
		w.open()
		w.ran(2)
	})
}

// What is due while as many jobs run as may waits until one has ended, and keeps
// nobody else's waiting.
func TestSchedulesWaitForTheirPlace(t *testing.T) {
	inTime(t, "", func(t *testing.T, w *timed) {
		w.close()
		w.opts.Limits = config.Limits{Runs: 4}
		w.open()
		bob := user(t, w.v, "bob")
		for n := range 6 {
			w.schedule(w.alice, fmt.Sprintf(`{"operation":"test:hold","name":"r%d","after":"1h"}`, n))
		}
		w.schedule(bob, `{"operation":"test:mark","name":"s","after":"61m"}`)
		w.sleep(61 * time.Minute)
		if w.marks.Load() != 1 {
			t.Error("bob's schedule waits for alice's jobs")
		}
		if jobs := w.fired(); len(jobs) > 4 {
			t.Errorf("%d of alice's execute at once", len(jobs))
		}
		close(w.held)
		w.sleep(time.Minute)
		jobs := w.fired()
		for _, j := range jobs {
			if j.Status != runs.Complete {
				t.Errorf("job of %s is %s: %s", j.Fired.Schedule, j.Status, j.Error)
			}
		}
		if len(jobs) != 6 {
			t.Errorf("%d of 6 have fired", len(jobs))
		}
	})
}
