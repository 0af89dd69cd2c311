package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"usher/venue/cli/socket"
	"usher/venue/config"
)

type upCmd struct{ onVenue }

func (*upCmd) ofVenue() *fromConfig { return nil } // it is the one that opens it

// up is what the command prints as JSON once the venue is up.
type up struct {
	Dir    string `json:"dir"`
	Config string `json:"config"`
	PID    int    `json:"pid"`
}

// Run keeps the venue until ctx ends, which is how it is stopped.
func (c *upCmd) Run(ctx context.Context, s *streams) error { return c.run(ctx, s, nil) }

// run keeps the venue, and serves it at a port, which is taken before anything is opened or
// written; nil is none.
func (c *upCmd) run(ctx context.Context, s *streams, at func(*config.Config) (*port, error)) (err error) {
	conn, err := c.keeper()
	if err == nil {
		pid := conn.PID()
		conn.Close()
		return fmt.Errorf("%s is already up: process %d keeps it", c.dir, pid)
	}
	if !errors.Is(err, socket.ErrNone) {
		return err
	}
	c.config = nil // another is read below, as near as can be to where it is watched
	conf, err := c.load(s)
	if err != nil {
		return err
	}
	if c.dir == "" {
		return misusef("%s keeps nothing on disk, so that no other command could reach it: name a data folder with --data, or under store in the configuration", c.Config)
	}
	var p *port
	if at != nil {
		if p, err = at(conf); err != nil {
			return err
		}
		defer p.close()
	}
	defer s.observe(ctx)()
	c.works = true
	v, u, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	k := &upVenue{program: s.program, venue: v, user: u, log: slog.New(s.log()), errands: make(chan struct{}, maxErrands)}
	k.config.Store(conf)
	var wrong [2]error
	k.dir, wrong[0] = filepath.Abs(c.dir)
	k.file, wrong[1] = filepath.Abs(c.Config)
	if err := errors.Join(wrong[:]...); err != nil {
		return err
	}
	return c.keep(ctx, s, k, p)
}

// keep has the socket answered, the configuration watched and the port served, until ctx ends.
func (c *upCmd) keep(ctx context.Context, s *streams, k *upVenue, p *port) error {
	leaveTerminal()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var work sync.WaitGroup
	l, err := socket.Listen(k.dir)
	switch {
	case errors.Is(err, socket.ErrUnsupported):
		s.warn("other commands cannot reach the venue while it is up: " + socket.ErrUnsupported.Error())
	case err != nil:
		return err
	default:
		defer func() { _ = l.Close() }() // the next one replaces what is left
		work.Go(func() {
			if err := k.serve(ctx, l); err != nil {
				s.warn(err.Error())
			}
		})
	}
	work.Go(func() {
		w := &configWatch{kept: k, from: &c.fromConfig, streams: s, seen: k.config.Load()}
		if err := config.Watch(ctx, c.Config, func() []string { return w.look(ctx) }); err != nil {
			cancel(err)
		}
	})
	if p != nil {
		if err = p.begin(ctx, s, k); err == nil {
			work.Go(func() {
				if err := p.serve(ctx); err != nil {
					cancel(err)
				}
			})
		}
	}
	if err == nil && !c.JSON {
		c.greet(s, k)
	}
	switch {
	case err != nil:
	case p != nil:
		err = p.tell(ctx, s, k)
	case c.JSON:
		err = s.printLine(up{k.dir, k.file, os.Getpid()})
	}
	if err != nil {
		cancel(err)
	}
	<-ctx.Done()
	k.stopping.Store(true)
	s.note("stopping")
	work.Wait()
	if err := context.Cause(ctx); !errors.Is(err, errInterrupted) && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// greet says what is kept, and how to stop it.
func (c *upCmd) greet(s *streams, k *upVenue) {
	conf := k.config.Load()
	ids := names(conf.Agents, ofSpec)
	s.report("%s is up, as %s says: %s", c.dir, c.Config, some(ids, "agent"))
	if n := len(k.venue.LiveRuns()); n > 0 {
		s.note(many(n, "run") + " that had not ended: usher runs watch shows what goes on.")
	}
	s.note("Other commands work with it meanwhile, and what changes in " + c.Config + " takes effect. Ctrl-C stops it.")
}

// some counts what there is, and names a few.
func some(names []string, noun string) string {
	const few = 8
	text := many(len(names), noun)
	if len(names) == 0 {
		return text
	}
	more := ""
	if len(names) > few {
		names, more = names[:few], ", …"
	}
	return text + " (" + strings.Join(names, ", ") + more + ")"
}
