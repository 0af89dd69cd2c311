package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/alecthomas/kong"

	"usher/venue/cli/socket"
	"usher/venue/config"
)

// A command that finds its data folder kept by another process, which `usher up`
// runs, is handed over to that one, with its arguments, its place, and its standard
// streams: it runs there as it would have here. What is sent are these messages, in
// this order.

// protocol is the version of the messages. Two that differ do not speak.
const protocol = 1

// greeting is what the process that keeps the folder says first.
type greeting struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version"`
	Full     bool   `json:"full,omitempty"` // as many commands run as may
}

// errand is a command that is handed over, with its three streams. Texts that need
// not be UTF-8 are bytes.
type errand struct {
	Args   [][]byte          `json:"args"`
	Dir    []byte            `json:"dir"`    // working directory
	Config []byte            `json:"config"` // absolute
	Data   []byte            `json:"data"`   // the data folder, absolute
	Vars   map[string][]byte `json:"vars"`   // of the environment
	Zone   []byte            `json:"zone"`   // what TZ says
	Zoned  bool              `json:"zoned"`  // TZ is set
}

// poke is what happens to the command meanwhile.
type poke string

const (
	pokeCtrlC poke = "ctrl-c"
	pokeEnd   poke = "end" // by a signal
)

// news is what comes back.
type news struct {
	Leaves bool   `json:"leaves,omitempty"` // the next Ctrl-C ends the process at once
	Over   bool   `json:"over,omitempty"`   // the last news
	Status int    `json:"status,omitempty"` // of a command that is over
	Broken string `json:"broken,omitempty"` // the stream that nobody reads any more, where the command ended of that
}

// variables are those of the environment that a command looks at.
var variables = []string{"NO_COLOR", "TERM", "COLUMNS", "LANG", "LC_ALL", "LC_CTYPE"}

// Bounds of what two processes wait for each other.
const (
	greetingTime = 10 * time.Second
	maxErrands   = 64 // at once
)

// ofVenue is the configuration of a command that works on its venue; nil is one that
// needs none, or reads the folder itself.
func (f *fromConfig) ofVenue() *fromConfig {
	if f.ReadOnly {
		return nil
	}
	return f
}

// venueOf is the configuration of the command that was called, or nil.
func venueOf(called *kong.Context) *fromConfig {
	node := called.Selected()
	if node == nil || !node.Target.CanAddr() {
		return nil
	}
	if c, ok := node.Target.Addr().Interface().(interface{ ofVenue() *fromConfig }); ok {
		return c.ofVenue()
	}
	return nil
}

// handOver has the command run by the process that keeps its data folder, if there is
// one, and reports whether it did.
func (s *streams) handOver(ctx context.Context, called *kong.Context, args []string) (status int, done bool) {
	f := venueOf(called)
	if s.upVenue() != nil {
		if f == nil {
			return s.fail(misusef("usher %s is not for another process to run", args[0])), true
		}
		return 0, false
	}
	if f == nil {
		return 0, false
	}
	conn, err := f.keeper()
	if errors.Is(err, socket.ErrNone) {
		return 0, false
	}
	if err != nil {
		return s.fail(err), true
	}
	defer conn.Close()
	streams, ok := s.files()
	if !ok { // of a program that has others: it opens the folder itself, and is told who has it
		return 0, false
	}
	status, err = s.hand(ctx, f, conn, args, streams)
	if err != nil {
		return s.fail(err), true
	}
	return status, true
}

// keeper reaches the process that keeps the data folder.
func (f *fromConfig) keeper() (*socket.Conn, error) {
	read := config.Read(f.Config)
	f.config, f.dir = read.Config, read.StoreDir
	if f.Data != "" {
		f.dir = f.Data
	}
	if f.dir == "" {
		return nil, socket.ErrNone
	}
	return socket.Dial(f.dir)
}

// files are the streams, where each is a file.
func (s *streams) files() (list []*os.File, ok bool) {
	for _, stream := range []any{s.in, s.out, s.err} {
		f, ok := stream.(*os.File)
		if !ok {
			return nil, false
		}
		list = append(list, f)
	}
	return list, true
}

// hand hands the command over and returns its exit status.
func (s *streams) hand(ctx context.Context, f *fromConfig, conn *socket.Conn, args []string, streams []*os.File) (status int, err error) {
	silent := func(err error) error {
		return fmt.Errorf("usher (process %d) keeps %s and does not answer: %w", conn.PID(), f.dir, err)
	}
	e, err := s.errand(f, args)
	if err != nil {
		return 0, err
	}
	var hello greeting
	if err := errors.Join(conn.Within(greetingTime), second(conn.Receive(&hello))); err != nil {
		return 0, silent(err)
	}
	switch {
	case hello.Protocol != protocol || hello.Version != version():
		return 0, fmt.Errorf("usher (process %d) keeps %s and is usher %s, and this is %s: stop it, and start it again with this one", conn.PID(), f.dir, hello.Version, version())
	case hello.Full:
		return 0, fmt.Errorf("usher (process %d) keeps %s and runs %d commands already: wait for one to end", conn.PID(), f.dir, maxErrands)
	}
	if s.program.Interrupts {
		shut, err := s.stand(streams)
		if err != nil {
			return 0, err
		}
		defer shut()
	}
	var sending sync.Mutex
	sent := false
	defer s.interrupts.take(func() { // before the command can begin there
		sending.Lock()
		defer sending.Unlock()
		if !sent {
			s.interrupts.end(errInterrupted)
			return
		}
		_ = conn.Send(pokeCtrlC) // one that is gone is noticed below
	})()
	sending.Lock()
	err = errors.Join(conn.Send(e, streams...), conn.Within(0))
	sent = true
	sending.Unlock()
	if err != nil {
		return 0, silent(err)
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Send(pokeEnd) })()
	for {
		var n news
		if _, err := conn.Receive(&n); err != nil {
			return 0, fmt.Errorf("usher (process %d) ended while the command ran; what it had done by then is in the audit ledger", conn.PID())
		}
		switch {
		case n.Broken != "":
			s.breakOff(n.Broken, streams)
			return ExitFailed, nil
		case n.Over:
			return n.Status, nil
		case n.Leaves:
			s.interrupts.leave()
		}
	}
}

func second[T any](_ T, err error) error { return err }

// errand is the command as it was typed here.
func (s *streams) errand(f *fromConfig, args []string) (e errand, err error) {
	for _, arg := range args {
		e.Args = append(e.Args, []byte(arg))
	}
	var errs [3]error
	var dir, file, data string
	dir, errs[0] = os.Getwd()
	file, errs[1] = filepath.Abs(f.Config)
	data, errs[2] = filepath.Abs(f.dir)
	e.Dir, e.Config, e.Data = []byte(dir), []byte(file), []byte(data)
	e.Vars = make(map[string][]byte)
	for _, name := range variables {
		if value, set := os.LookupEnv(name); set {
			e.Vars[name] = []byte(value)
		}
	}
	zone, zoned := os.LookupEnv("TZ")
	e.Zone, e.Zoned = []byte(zone), zoned
	return e, errors.Join(errs[:]...)
}

// breakOff ends the process as one ends whose reader has gone: by the system's signal,
// which writing once more brings.
func (s *streams) breakOff(stream string, streams []*os.File) {
	for _, f := range streams {
		if f.Name() == stream {
			_, _ = f.WriteString("\n")
		}
	}
}

// client is another process that a command was handed over by.
type client struct {
	kept     *upVenue
	keyboard keyboard
	broken   string // see [news]
}

// upVenue is the venue that the process keeps and the command works on; nil is one that
// the command opens itself.
func (s *streams) upVenue() *upVenue {
	if s.program == nil || s.program.client == nil {
		return nil
	}
	return s.program.client.kept
}

// inputLock is held while what a person typed is read and written.
func (s *streams) inputLock() sync.Locker {
	if k := s.upVenue(); k != nil {
		return &k.typing
	}
	return new(sync.Mutex)
}
