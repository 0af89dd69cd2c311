package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"usher/tools/agents"
	"usher/tools/fault"
	"usher/venue"
	"usher/venue/apply"
	"usher/venue/config"
	"usher/venue/runs"
	"usher/venue/store/journal"
)

// fromConfig is the flag of every command that works on a venue.
type fromConfig struct {
	Config string `short:"c" default:"usher.yaml" placeholder:"FILE" help:"Configuration: a file or a folder."`
	Data   string `placeholder:"DIR" help:"Data folder, instead of the configuration's."`
	readOnly

	works  bool           // the command goes on with what was under way
	ends   string         // the agent that the command ends, or "schedule NAME": it need not remind anybody of that
	dir    string         // its data folder; empty is in memory
	config *config.Config // once it is loaded
}

// load reads the configuration, and where its data lies. A venue that is kept has one
// already.
func (f *fromConfig) load(s *streams) (*config.Config, error) {
	if k := s.upVenue(); k != nil {
		f.config, f.dir = k.config.Load(), k.dir
	}
	if f.config != nil {
		return f.config, nil
	}
	c, err := config.Load(f.Config)
	if errors.Is(err, os.ErrNotExist) {
		return nil, misusef("there is no configuration %s: name one with -c, or make a project with usher init", f.Config)
	}
	if err != nil {
		return nil, misuse{err}
	}
	f.config, f.dir = c, cmp.Or(f.Data, c.StoreDir())
	return c, nil
}

// open opens the venue of the configuration, for its user.
func (f *fromConfig) open(ctx context.Context, s *streams) (*venue.Venue, *venue.User, error) {
	c, err := f.load(s)
	if err != nil {
		return nil, nil, err
	}
	if k := s.upVenue(); k != nil {
		f.noteOutcome(s, k.venue.Outcome())
		return k.venue, k.user, nil
	}
	if f.ReadOnly && f.dir == "" {
		return nil, nil, misusef("%s keeps nothing on disk: there is nothing to read", f.Config)
	}
	if f.ReadOnly && !s.exists(f.dir) {
		return nil, nil, f.nothingYet()
	}
	if !f.ReadOnly && f.Data != "" && !s.exists(f.dir) {
		s.warn("there was no data folder " + f.dir + ", and a new one is made: remove it where the name was misspelt")
	}
	told, shown := s.progress()
	v, err := f.free(ctx, s, func() (*venue.Venue, error) {
		return venue.Open(ctx, &venue.Options{
			Dir: f.dir, Config: c, Providers: s.program.Providers, Tools: s.program.Tools, Logger: slog.New(s.log()), Telemetry: s.telemetry,
			ReadOnly: f.ReadOnly, Idle: !f.works, Told: s.warn, Progress: told,
		})
	})
	shown()
	if err != nil {
		return nil, nil, f.openError(ctx, s, c, err)
	}
	f.noteOutcome(s, v.Outcome())
	u, err := v.User(ctx, c.User)
	if err != nil {
		return nil, nil, errors.Join(err, v.Close())
	}
	return v, u, nil
}

// nothingYet is the misuse that there is nothing to read.
func (f *fromConfig) nothingYet() error {
	return misusef("there is no data folder %s: nothing has run with %s yet", f.dir, f.Config)
}

// How long a command waits for another one that has its folder open, and how often it looks.
const (
	freeTime = 10 * time.Second
	freeLook = 50 * time.Millisecond
)

// free opens the venue, and waits a while where another command has it open.
func (f *fromConfig) free(ctx context.Context, s *streams, open func() (*venue.Venue, error)) (*venue.Venue, error) {
	for looks := 0; ; looks++ {
		v, err := open()
		held, is := errors.AsType[*journal.LockError](err)
		if !is {
			return v, err
		}
		if looks == int(freeTime/freeLook) {
			return nil, fmt.Errorf("%w\n(while %s keeps it, commands work beside each other)", err, f.command("up"))
		}
		if looks == int(time.Second/freeLook) {
			s.note(fmt.Sprintf("%s has %s open: waiting for it, for %s at most", held.By, f.dir, freeTime))
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(freeLook):
		}
	}
}

// openError is why the venue did not open. A fault in the configuration is one of
// how the command was called, and lint may know of more.
func (f *fromConfig) openError(ctx context.Context, s *streams, c *config.Config, err error) error {
	if findings, lintErr := s.lint(ctx, c); lintErr == nil && hasErrors(findings) && fault.Of(err) != fault.NoLedger {
		return misusef("%w\n(usher lint -c %s says what is wrong in the configuration)", err, f.Config)
	}
	return err
}

// noteOutcome tells what the configuration says and the venue does not, or the
// other way round, and what to do.
func (f *fromConfig) noteOutcome(s *streams, applied apply.Outcome) {
	for _, id := range applied.Agents {
		if id == f.ends {
			continue
		}
		s.warn(fmt.Sprintf("agent %s has left the configuration and is still there: end it with %s", id, f.command("agents delete "+id)))
	}
	for _, path := range applied.Orchestrations {
		s.warn(fmt.Sprintf("orchestration %s has left the configuration and can still be run: remove it with %s", path, f.command(fmt.Sprintf(`invoke covia:delete '{"path":%q}'`, path))))
	}
	for _, name := range applied.Schedules {
		if f.ends == "schedule "+name {
			continue
		}
		s.warn(fmt.Sprintf("schedule %s has left the configuration and still fires: remove it with %s", name, f.command("schedules remove "+name)))
	}
	for _, name := range applied.Passed {
		s.warn(fmt.Sprintf("schedule %s was not made: its time has passed", name))
	}
	for _, k := range applied.Kept {
		how := fmt.Sprintf(`invoke covia:write '{"path":%q,"value":…}'`, k.Path)
		if k.Below != "" {
			how = fmt.Sprintf(`invoke covia:delete '{"path":%q}'`, k.Below)
		}
		s.warn(fmt.Sprintf("%s (%s)", k, f.command(how)))
	}
}

// withVenue runs fn with the venue of the configuration, and closes it. Where what was
// typed is no input, or names what is not there, the error is one of how the command was
// called.
func (f *fromConfig) withVenue(ctx context.Context, s *streams, fn func(*venue.Venue, *venue.User) error) error {
	return f.useVenue(ctx, s, func(v *venue.Venue, u *venue.User) error {
		err := f.unknownAgent(ctx, u, fn(v, u))
		switch fault.Of(err) {
		case fault.InvalidInput, fault.NotFound:
			return misuse{err}
		}
		return err
	})
}

// useVenue is withVenue for a command whose errors are those of what it runs.
func (f *fromConfig) useVenue(ctx context.Context, s *streams, fn func(*venue.Venue, *venue.User) error) (err error) {
	defer func() { err = f.readable(err) }()
	v, u, err := f.open(ctx, s)
	if err != nil {
		return err
	}
	if s.upVenue() != nil {
		return fn(v, u)
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	if err := fn(v, u); err != nil || f.works { // what is under way rests then, and goes on elsewhere
		return err
	}
	return s.settle(ctx, v)
}

// settle waits for the jobs that the command, or an agent in it, has started and
// that nobody waits for: they would end with the venue.
func (s *streams) settle(ctx context.Context, v *venue.Venue) error {
	for _, r := range v.LiveRuns() {
		if err := s.await(ctx, r); err != nil {
			return err
		}
	}
	if len(v.LiveRuns()) > 0 { // what those have started
		return s.settle(ctx, v)
	}
	return nil
}

// withAgent is [fromConfig.withVenue] for a command on an agent of the user.
func (f *fromConfig) withAgent(ctx context.Context, s *streams, id string, fn func(*venue.User, *venue.Agent) error) error {
	return f.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		agent, err := u.Agent(ctx, id)
		if err != nil {
			return err
		}
		return fn(u, agent)
	})
}

// command is a command for a person to type, on the same venue.
func (f *fromConfig) command(rest string) string {
	if f.Config != "usher.yaml" {
		rest += " -c " + f.Config
	}
	if f.Data != "" {
		rest += " --data " + f.Data
	}
	return "usher " + rest
}

// entry is the configuration's agent of the id.
func (f *fromConfig) entry(id string) (spec agents.Spec, ok bool) {
	i := slices.IndexFunc(f.config.Agents, func(spec agents.Spec) bool { return spec.ID == id })
	if i < 0 {
		return spec, false
	}
	return f.config.Agents[i], true
}

// unknownAgent adds to an error about a missing agent how to get it back, where
// the configuration has it, or else which agents there are.
func (f *fromConfig) unknownAgent(ctx context.Context, u *venue.User, err error) error {
	missing, ok := errors.AsType[*venue.NoAgentError](err)
	if !ok {
		return err
	}
	if _, ok := f.entry(missing.ID); ok {
		return misusef("%w: %s has it, and %s makes it as it stands there", err, f.Config, f.command("agents create "+missing.ID))
	}
	list, listErr := u.Agents(ctx)
	if listErr != nil {
		return misuse{err}
	}
	return unknown("there is no agent", missing.ID, list, func(a agents.Summary) string { return a.AgentID })
}

// explain adds to an error of an agent that has ended how to bring it back.
func (f *fromConfig) explain(agent *venue.Agent, err error) error {
	if err == nil || !agent.IsOver() {
		return err
	}
	return fmt.Errorf("agent %s is TERMINATED: %s makes it anew, without its sessions", agent.ID(), f.command("agents create "+agent.ID()+" --overwrite"))
}

// await waits for a job, and tells what became of it.
func (s *streams) await(ctx context.Context, r *runs.Run) error {
	rec := r.Record()
	s.note(jobName(&rec) + " runs on: waiting for it; Ctrl-C stops it")
	_, err := r.Wait(ctx)
	if ctx.Err() != nil {
		return errInterrupted
	}
	s.became(&rec, err)
	return nil
}

// became tells what became of a job.
func (s *streams) became(rec *runs.Record, err error) {
	if err != nil {
		s.note(jobName(rec) + " failed: " + err.Error())
		return
	}
	s.note(jobName(rec) + " is done")
}

func jobName(rec *runs.Record) string { return fmt.Sprintf("job %s (%s)", rec.ID, rec.Op) }

// onVenue is what commands on a venue take.
type onVenue struct {
	fromConfig
	JSON bool `name:"json" help:"Print as JSON."`
}

// ask runs an operation for the user and reads its output as Out.
func ask[Out any](ctx context.Context, u *venue.User, operation string, input any) (out Out, err error) {
	raw, err := u.Invoke(ctx, operation, input)
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(raw, &out)
}

// every reads all pages of a list, of which the first is after "".
func every[T any](page func(after string) (list []T, next string, err error)) ([]T, error) {
	all := []T{}
	for after := ""; ; {
		list, next, err := page(after)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
		if after = next; next == "" {
			return all, nil
		}
	}
}

// answer runs an operation for the user, and prints its output: as JSON, or as show does.
func answer[Out any](ctx context.Context, s *streams, c *onVenue, operation string, input any, show func(Out) error) error {
	return withAnswer(ctx, s, c, operation, input, func(out Out) error {
		if c.JSON {
			return s.printJSON(out)
		}
		return show(out)
	})
}

// withAnswer runs an operation for the user, and fn with its output.
func withAnswer[Out any](ctx context.Context, s *streams, c *onVenue, operation string, input any, fn func(Out) error) error {
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		out, err := ask[Out](ctx, u, operation, input)
		if err != nil {
			return err
		}
		return fn(out)
	})
}

// readOnly is the flag of commands that may open a data folder without writing to it.
type readOnly struct {
	ReadOnly bool `help:"Open the data folder without writing anything to it: on a full or read-only disk, another user's, or while another process has it open. Only for commands that read."`

	reads bool // the command that was called writes nothing of its own, as its tag says
}

// AfterApply refuses the flag for a command that writes.
func (r *readOnly) AfterApply(called *kong.Context) error {
	node := called.Selected()
	if node == nil {
		return nil
	}
	if r.reads = node.Tag.Has("reads"); r.ReadOnly && !r.reads {
		return fmt.Errorf("%s writes, and --read-only is for commands that only read, such as usher sessions list", node.FullPath())
	}
	return nil
}

// readable adds to an error of a folder that cannot be written how to read it all the same.
func (r *readOnly) readable(err error) error {
	_, held := errors.AsType[*journal.LockError](err)
	if !r.reads || r.ReadOnly || !held && !errors.Is(err, journal.ErrFull) && !errors.Is(err, journal.ErrStopped) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
		return err
	}
	return fmt.Errorf("%w\n(add --read-only to read without writing)", err)
}
