package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"usher/tools/pause"
	"usher/venue"
	"usher/venue/cli/socket"
	"usher/venue/config"
)

// upVenue is a venue that stays open, for the commands of other processes to work on.
type upVenue struct {
	program *Program
	venue   *venue.Venue
	user    *venue.User
	dir     string // the data folder
	file    string // the configuration's
	log     *slog.Logger

	config  atomic.Pointer[config.Config] // that is applied
	typing  sync.Mutex                    // held while what people typed in chats is read and written
	errands chan struct{}                 // a place for each that runs

	stopping atomic.Bool
	work     sync.WaitGroup
}

// leaveTime is how long the commands of others have to end when the venue closes. What
// hangs on a terminal that takes no more is left behind.
const leaveTime = 5 * time.Second

// serve runs the commands that come over the socket, until ctx ends. Then it closes the
// venue: what runs for a command rests, which the command tells, and only what waits for
// nothing but its terminal is interrupted.
func (k *upVenue) serve(ctx context.Context, l *socket.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	whole, interrupt := context.WithCancel(context.WithoutCancel(ctx))
	defer interrupt()
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			break
		}
		if err != nil { // too many open files, as a rule
			k.log.WarnContext(ctx, "a command of another process is not taken", "error", err)
			_ = pause.For(ctx, time.Second)
			continue
		}
		k.work.Go(func() {
			defer conn.Close()
			k.take(whole, conn)
		})
	}
	var err error
	if k.venue != nil {
		err = k.venue.Close()
	}
	interrupt()
	left := make(chan struct{})
	go func() {
		k.work.Wait()
		close(left)
	}()
	select {
	case <-left:
	case <-time.After(leaveTime):
		err = errors.Join(err, errors.New("a command of another process does not end: its terminal takes nothing more"))
	}
	return err
}

// take runs one command.
func (k *upVenue) take(ctx context.Context, conn *socket.Conn) {
	hello := greeting{Protocol: protocol, Version: version()}
	select {
	case k.errands <- struct{}{}:
		defer func() { <-k.errands }()
	default:
		hello.Full = true
	}
	var e errand
	if err := errors.Join(conn.Within(greetingTime), conn.Send(hello)); err != nil || hello.Full {
		return
	}
	files, err := conn.Receive(&e)
	if err != nil || conn.Within(0) != nil {
		return // it went away, or is of another version
	}
	shut := sync.OnceFunc(func() {
		for _, f := range files {
			f.Close()
		}
	})
	defer shut()
	if len(files) != 3 {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pressed := make(chan os.Signal, 2)
	c := &client{kept: k, keyboard: keyboard{pressed, sync.OnceFunc(func() { _ = conn.Send(news{Leaves: true}) })}}
	var listening sync.WaitGroup
	listening.Go(func() {
		defer cancel()
		for {
			var p poke
			if _, err := conn.Receive(&p); err != nil || p == pokeEnd {
				return
			}
			select {
			case pressed <- os.Interrupt:
			default: // as many are waiting as a process keeps
			}
		}
	})
	status := k.run(ctx, &e, c, files, conn.PID())
	shut()                                                            // before the other ends: who reads its output sees the end of it
	_ = conn.Send(news{Over: true, Status: status, Broken: c.broken}) // or nobody waits
	conn.Close()
	listening.Wait()
}

// run runs the command as the process would that handed it over. One that panics
// takes nothing else with it.
func (k *upVenue) run(ctx context.Context, e *errand, c *client, files []*os.File, pid int) (status int) {
	p := *k.program
	p.Stdin, p.Stdout, p.Stderr, p.Interrupts = files[0], files[1], files[2], false
	p.client, p.place = c, e.place(pid)
	defer func() {
		if failure := recover(); failure != nil {
			k.log.ErrorContext(ctx, "a command panicked", "error", fmt.Sprint(failure), "stack", string(debug.Stack()))
			status = p.streams().fail(fmt.Errorf("the command failed inside (panic: %v)", failure))
		}
	}()
	if err := k.isFor(e); err != nil {
		return p.streams().fail(err)
	}
	args := make([]string, len(e.Args))
	for i, arg := range e.Args {
		args[i] = string(arg)
	}
	return p.Run(ctx, args)
}

// isFor refuses a command that means another folder or another configuration.
func (k *upVenue) isFor(e *errand) error {
	if !sameFile(string(e.Data), k.dir) {
		return fmt.Errorf("the process that keeps %s was asked for %s", k.dir, e.Data)
	}
	if !sameConfig(string(e.Config), k.file) {
		return misusef("a venue that is up keeps %s by the configuration %s, and this command names %s: name that one with -c, or stop that venue first", k.dir, k.file, e.Config)
	}
	return nil
}

// sameConfig reports whether two paths are of one configuration: a folder is that of its only file.
func sameConfig(a, b string) bool {
	if sameFile(a, b) {
		return true
	}
	files := config.Read(a).Files
	return len(files) > 0 && slices.EqualFunc(files, config.Read(b).Files, sameFile)
}

func sameFile(a, b string) bool {
	if a == b {
		return true
	}
	at, errA := os.Stat(a)
	bt, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(at, bt)
}

// place is where the command was typed.
func (e *errand) place(pid int) place {
	p := place{dir: string(e.Dir), vars: make(map[string]string), pid: pid}
	for name, value := range e.Vars {
		p.vars[name] = string(value)
	}
	own, zoned := os.LookupEnv("TZ")
	if zoned != e.Zoned || own != string(e.Zone) {
		p.zone = zoneOf(string(e.Zone), e.Zoned)
	}
	return p
}

// zoneOf is the time zone that TZ means; as everywhere, UTC is one that is empty or
// not known.
func zoneOf(name string, set bool) *time.Location {
	name = strings.TrimPrefix(name, ":")
	if !set {
		name = "/etc/localtime"
	}
	if strings.HasPrefix(name, "/") {
		if raw, err := os.ReadFile(name); err == nil {
			if zone, err := time.LoadLocationFromTZData("Local", raw); err == nil {
				return zone
			}
		}
		return time.UTC
	}
	if zone, err := time.LoadLocation(name); err == nil && name != "Local" {
		return zone
	}
	return time.UTC
}

// deadStream is the stream whose reader has gone, where a command failed of that.
func deadStream(err error) string {
	if failed, ok := errors.AsType[*os.PathError](err); ok && errors.Is(err, syscall.EPIPE) {
		return failed.Path
	}
	return ""
}
