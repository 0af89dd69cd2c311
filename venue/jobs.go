package venue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"usher/tools"
	"usher/tools/fault"
	"usher/tools/grid"
	"usher/tools/orchestrate"
	"usher/tools/spend"
	"usher/ucan"
	"usher/venue/store"
)

// Statuses of a job.
const (
	JobStarted   = "STARTED"
	JobComplete  = "COMPLETE"
	JobFailed    = "FAILED"
	JobCancelled = "CANCELLED"
	JobRejected  = "REJECTED" // the gate refused it
)

// Job is the record of a piece of work: an operation that was started as a
// job, a task of an agent, or the run of an orchestration.
type Job struct {
	ID      string             `json:"id"`
	Op      string             `json:"op"` // catalogue path
	Status  string             `json:"status"`
	Created int64              `json:"created"` // ms
	Updated int64              `json:"updated"` // ms
	Input   json.RawMessage    `json:"input,omitempty"`
	Caller  string             `json:"caller,omitempty"` // the agent that started it; empty for the owner
	Via     []string           `json:"via,omitempty"`
	Parent  string             `json:"parent,omitempty"` // the job that it is part of
	Session string             `json:"session,omitempty"`
	Output  json.RawMessage    `json:"output,omitempty"`
	Error   string             `json:"error,omitempty"`
	Budget  *spend.BudgetError `json:"budget,omitempty"` // that ended it
	Steps   []orchestrate.Step `json:"steps,omitempty"`
}

// NoJobError says that a user has no job of an id: also when another has.
type NoJobError struct{ ID string }

func (e *NoJobError) Error() string { return fmt.Sprintf("there is no job %q", e.ID) }

// JobError says that a job whose result was asked for has none. Where a budget
// ended it, the error unwraps to a [*spend.BudgetError].
type JobError struct {
	ID     string
	Status string
	Reason string
	Budget *spend.BudgetError // nil for any other reason
}

func (e *JobError) Error() string {
	return fmt.Sprintf("job %s ended %s: %s", e.ID, e.Status, e.Reason)
}

func (e *JobError) Unwrap() error {
	if e.Budget == nil {
		return nil // not a nil pointer in an error
	}
	return e.Budget
}

// job is a job that runs in this process.
type job struct {
	book  *jobBook
	owner ucan.DID
	auth  tools.Authority // of the call that it is the job of
	done  chan struct{}   // closed when it has ended

	mu      sync.Mutex
	rec     Job
	output  json.RawMessage // of a job that is complete, whole
	err     error           // how it ended, as an error
	claimed bool            // an orchestration keeps its steps here
}

// jobBook keeps the records of jobs, and those that run.
type jobBook struct {
	space *store.Space
	now   func() time.Time

	mu      sync.Mutex
	running map[string]*job // by id
}

const interrupted = "interrupted: the venue stopped while the job ran; what it had done by then is in the audit ledger"

// Keys: "rec/<owner>/<id>" is the record, "run/<owner>/<id>" marks one that has not ended.
func jobKey(kind string, owner ucan.DID, id string) string {
	return kind + "/" + owner.String() + "/" + id
}

// openJobs opens the book and closes the jobs that a crash left open.
func openJobs(ctx context.Context, space *store.Space, now func() time.Time) (*jobBook, error) {
	b := &jobBook{space: space, now: now, running: make(map[string]*job)}
	var open []string
	for mark, err := range store.Keys(ctx, space, "run/", "") {
		if err != nil {
			return nil, fmt.Errorf("open jobs: %w", err)
		}
		open = append(open, mark)
	}
	for _, mark := range open {
		k := "rec/" + strings.TrimPrefix(mark, "run/")
		raw, _, err := space.Get(ctx, k)
		if err != nil {
			return nil, fmt.Errorf("open jobs: %w", err)
		}
		var rec Job
		if err := json.Unmarshal(raw, &rec); err != nil {
			return nil, fmt.Errorf("open job %s: %w", k, err)
		}
		rec.Status, rec.Error, rec.Updated = JobFailed, interrupted, now().UnixMilli()
		if raw, err = json.Marshal(rec); err != nil {
			return nil, err
		}
		if _, err := space.Apply(ctx, nil, map[string][]byte{k: raw}, []string{mark}); err != nil {
			return nil, fmt.Errorf("open jobs: %w", err)
		}
	}
	return b, nil
}

// newJob makes a job for what auth starts. It is not stored yet.
func (v *Venue) newJob(auth tools.Authority, op string, input json.RawMessage) (*job, error) {
	id, err := v.newID()
	if err != nil {
		return nil, err
	}
	now := v.now().UnixMilli()
	return &job{
		book: v.jobs, owner: auth.Owner(), auth: auth, done: make(chan struct{}),
		rec: Job{
			ID: id, Op: op, Status: JobStarted, Created: now, Updated: now, Input: input,
			Caller: auth.Actor(), Via: auth.Via(), Parent: auth.Run(),
		},
	}, nil
}

// maxRunning bounds the jobs of one owner that run at once.
const maxRunning = 64

// ErrTooManyJobs: an owner has as many jobs running as may run at once.
var ErrTooManyJobs = fault.New(fault.TooManyRuns, "too many jobs run at once: wait for some to end")

// begin stores the job as running.
func (j *job) begin(ctx context.Context) error {
	if err := j.book.admit(j); err != nil {
		return err
	}
	if err := j.save(ctx); err != nil {
		j.book.leave(j)
		return err
	}
	return nil
}

func (b *jobBook) admit(j *job) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	running := 0
	for _, other := range b.running {
		if other.owner == j.owner {
			running++
		}
	}
	if running >= maxRunning {
		return fmt.Errorf("%w (%d)", ErrTooManyJobs, maxRunning)
	}
	b.running[j.rec.ID] = j
	return nil
}

func (b *jobBook) leave(j *job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.running, j.rec.ID)
}

// end stores how the job ended, and wakes whoever waits for it.
func (j *job) end(ctx context.Context, output json.RawMessage, failure error) error {
	j.mu.Lock()
	j.rec.Status, j.rec.Output, j.output, j.err = JobComplete, output, output, failure
	if failure != nil {
		j.rec.Status, j.rec.Output, j.output, j.rec.Error = endStatus(failure), nil, nil, tools.Cut(failure.Error())
		j.rec.Budget, _ = errors.AsType[*spend.BudgetError](failure)
	}
	j.mu.Unlock()
	err := j.save(ctx)
	j.book.leave(j)
	close(j.done)
	return err
}

func endStatus(failure error) string {
	switch fault.Of(failure) {
	case fault.Denied:
		return JobRejected
	case fault.Canceled, fault.Stopped:
		return JobCancelled
	}
	return JobFailed
}

func (j *job) save(ctx context.Context) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.rec.Updated = j.book.now().UnixMilli()
	raw, err := j.rec.encode()
	if err != nil {
		return err
	}
	put := map[string][]byte{jobKey("rec", j.owner, j.rec.ID): raw}
	var del []string
	if mark := jobKey("run", j.owner, j.rec.ID); j.rec.Status == JobStarted {
		put[mark] = []byte{}
	} else {
		del = []string{mark}
	}
	if _, err = j.book.space.Apply(ctx, nil, put, del); err != nil {
		return fmt.Errorf("store job %s: %w", j.rec.ID, err)
	}
	return nil
}

// maxRecord bounds the stored record of a job, in bytes.
const maxRecord = 768 << 10

// encode returns the record as it is stored. What is too large for it is
// replaced by its size, the steps' values first, then the input, then the
// output.
func (j Job) encode() ([]byte, error) {
	raw, err := json.Marshal(j)
	for cut := 0; err == nil && len(raw) > maxRecord && cut < 3; cut++ {
		switch cut {
		case 0:
			j.Steps = slices.Clone(j.Steps)
			for i := range j.Steps {
				j.Steps[i].Input, j.Steps[i].Output = tooLarge(j.Steps[i].Input), tooLarge(j.Steps[i].Output)
			}
		case 1:
			j.Input = tooLarge(j.Input)
		case 2:
			j.Output = tooLarge(j.Output)
		}
		raw, err = json.Marshal(j)
	}
	return raw, err
}

func tooLarge(value json.RawMessage) json.RawMessage {
	if len(value) < 1<<10 {
		return value
	}
	return json.RawMessage(fmt.Sprintf(`{"truncated":true,"size":%d}`, len(value)))
}

// result is the whole output of a job that is complete.
func (j *job) result() json.RawMessage {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.output
}

func (j *job) record() Job {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.rec
}

func (j *job) status() grid.Status { return statusOf(j.record()) }

// find returns the job's record. Another owner's job looks like none.
func (b *jobBook) find(ctx context.Context, owner ucan.DID, id string) (Job, error) {
	if j := b.live(owner, id); j != nil {
		return j.record(), nil
	}
	raw, _, err := b.space.Get(ctx, jobKey("rec", owner, id))
	if err != nil {
		return Job{}, err
	}
	if raw == nil {
		return Job{}, &NoJobError{id}
	}
	var rec Job
	if err := json.Unmarshal(raw, &rec); err != nil {
		return Job{}, fmt.Errorf("read job %s: %w", id, err)
	}
	return rec, nil
}

func (b *jobBook) live(owner ucan.DID, id string) *job {
	b.mu.Lock()
	defer b.mu.Unlock()
	if j := b.running[id]; j != nil && j.owner == owner {
		return j
	}
	return nil
}
