package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/caps"
	"usher/tools"
	"usher/tools/fault"
	"usher/tools/form"
	"usher/ucan"
)

// Options says what servers work with.
type Options struct {
	Owner   ucan.DID // whose servers they are
	Keeper  Keeper
	Version string // of this program, as servers are told; may be empty

	// Vault keeps what signing in has left; nil forgets it when the servers are closed.
	Vault Vault
	// Secret reads a secret of the owner; nil knows none.
	Secret func(ctx context.Context, name string) (string, error)
	// Lends reports whether a principal is an agent of the owner's with an identity of its own,
	// who finds the owner's servers; nil is nobody.
	Lends func(ucan.DID) bool
	// Import makes operations all that the owner has imported: see [tools.Registry.Import].
	Import func(ops []*tools.Operation) (leftOut []*tools.Operation, err error)

	CallTime time.Duration // of a call whose context has no earlier end; 0 is 300 s
	Logger   *slog.Logger
	Now      func() time.Time

	transport func(Server) sdk.Transport // instead of a process or a URL, in tests
}

// Servers are the servers of a configuration. It is safe for concurrent use.
type Servers struct {
	opts Options

	mu     sync.Mutex
	byID   map[string]*entry
	closed bool
	ending sync.WaitGroup // of servers that were replaced
}

// entry is one server, with what is kept of it. The record and what is made of it are
// guarded by the mutex of all.
type entry struct {
	of      *Servers
	server  Server
	link    *link
	root    *folder
	rootErr error
	record  Record
	version uint64    // of the record
	written time.Time // when a change of the listing was written down
	ops     []*tools.Operation
	awaited time.Time // until when FetchAll waits for it; zero before it did
	leftOut []string  // names of tools that have a name for models that something else has
}

// New returns the servers of nobody's configuration yet.
func New(o Options) *Servers {
	o.CallTime = cmp.Or(o.CallTime, 300*time.Second)
	return &Servers{opts: o, byID: map[string]*entry{}}
}

// Set brings the servers to a configuration: those that stay as they are go on, others
// end. Nothing is started.
func (s *Servers) Set(ctx context.Context, list []Server) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.New("the servers are closed")
	}
	next := make(map[string]*entry, len(list))
	for _, server := range list {
		if err := server.Check(); err != nil {
			return fmt.Errorf("MCP server %s: %w", server.ID, err)
		}
		if next[server.ID] != nil {
			return fmt.Errorf("there are two MCP servers %s: give each an id of its own", server.ID)
		}
		was := s.byID[server.ID]
		if was != nil && reflect.DeepEqual(was.server, server) {
			next[server.ID] = was
			continue
		}
		e := &entry{of: s, server: server}
		var err error
		if e.record, err = s.opts.Keeper.Load(ctx, server.ID); err != nil {
			return fmt.Errorf("MCP server %s: %w", server.ID, err)
		}
		if e.record.Origin != server.digest() {
			e.record = Record{}
		}
		if server.Root != "" {
			root := server.Root
			if !filepath.IsAbs(root) {
				root = filepath.Join(server.Dir, root)
			}
			if e.root, e.rootErr = openFolder(root); e.rootErr != nil {
				s.opts.Logger.WarnContext(ctx, "the root of an MCP server is not there", "server", server.ID, "error", e.rootErr)
			}
		}
		e.link = newLink(server, &s.opts, func(ctx context.Context, l *listing) error { return s.takeListing(ctx, e, l) })
		if err := e.make(); err != nil {
			return err
		}
		next[server.ID] = e
	}
	for id, was := range s.byID {
		if next[id] != was {
			s.ending.Go(was.link.close)
		}
	}
	s.byID = next
	return s.publish()
}

// Close ends all servers.
func (s *Servers) Close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.closed = true
	for _, e := range s.byID {
		s.ending.Go(e.link.close)
	}
	s.mu.Unlock()
	s.ending.Wait()
}

// publish has all operations imported, under the mutex.
func (s *Servers) publish() error {
	var ops []*tools.Operation
	for _, e := range s.inOrder() {
		ops = append(ops, e.ops...)
	}
	leftOut, err := s.opts.Import(ops)
	for _, e := range s.byID {
		e.leftOut = nil
		for _, op := range leftOut {
			if name, mine := strings.CutPrefix(op.Path(), e.server.prefix()); mine {
				e.leftOut = append(e.leftOut, name)
			}
		}
	}
	return err
}

// takeListing takes what a server says of itself. What has changed in that is written down
// once in a while only: a server that says something else each time fills no disk.
func (s *Servers) takeListing(ctx context.Context, e *entry, l *listing) error {
	for {
		s.mu.Lock()
		was, version := e.record, e.version
		s.mu.Unlock()
		next := was.after(e.server.digest(), l) // outside of the lock: it may be much
		if reflect.DeepEqual(next, was) {
			return nil
		}
		for i := range next.Pins {
			if p := &next.Pins[i]; p.state() != Usable {
				s.opts.Logger.WarnContext(ctx, "a tool of an MCP server is not used", "server", e.server.ID, "tool", p.name(), "state", p.state(), "why", p.Unfit)
			}
		}
		s.mu.Lock()
		if e.version != version {
			s.mu.Unlock()
			continue
		}
		defer s.mu.Unlock()
		now := s.opts.Now()
		if was.Origin == next.Origin && now.Sub(e.written) < writeEvery {
			return s.use(e, next)
		}
		e.written = now
		return s.keep(ctx, e, next)
	}
}

// writeEvery is how often changes of a listing are written down, at most.
const writeEvery = time.Hour

// keep keeps a record and makes its operations, under the mutex.
func (s *Servers) keep(ctx context.Context, e *entry, next Record) error {
	if s.byID[e.server.ID] != e { // another has its id by now, and a record of its own
		return errClosed
	}
	if err := s.opts.Keeper.Save(ctx, e.server.ID, next); err != nil {
		return err
	}
	return s.use(e, next)
}

// use makes the operations of a record, under the mutex.
func (s *Servers) use(e *entry, next Record) error {
	e.record = next
	e.version++
	if err := e.make(); err != nil {
		return err
	}
	return s.publish()
}

var _ tools.Source = (*Servers)(nil)

// Fetch lists the tools of the server that at lies in, where it never was.
func (s *Servers) Fetch(ctx context.Context, at caps.Resource) error {
	segments := at.Segments()
	if len(segments) < 2 {
		return nil
	}
	s.mu.Lock()
	e := s.byID[segments[1]]
	known := e == nil || e.record.Origin != ""
	s.mu.Unlock()
	if known {
		return nil
	}
	_, err := e.link.connection(ctx)
	return err
}

// Declarations is what a tool requires by the configuration alone, or, of a server, what the
// tools of each of its lines do.
func (s *Servers) Declarations(at caps.Resource) (ops []*tools.Operation) {
	segments := at.Segments()
	if len(segments) < 2 {
		return nil
	}
	s.mu.Lock()
	e := s.byID[segments[1]]
	s.mu.Unlock()
	switch {
	case e == nil || len(segments) > 3:
		return nil
	case len(segments) == 2:
		return e.server.declarations()
	}
	op, err := e.server.Declaration(segments[2])
	if err != nil {
		return nil
	}
	return []*tools.Operation{op}
}

// Lends reports whether a principal is an agent of the owner's with an identity of its own.
func (s *Servers) Lends(to ucan.DID) bool { return s.opts.Lends != nil && s.opts.Lends(to) }

// FetchAll lists the tools of all servers that never were, and of which set could allow one,
// side by side. One that takes longer than [soon] is waited for no more, and answers when it can.
func (s *Servers) FetchAll(ctx context.Context, set caps.Set) {
	var all sync.WaitGroup
	defer all.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for _, e := range s.byID {
		could := func(op *tools.Operation) bool { return op.CouldAllow(set) }
		if e.record.Origin != "" || !slices.ContainsFunc(e.server.declarations(), could) {
			continue
		}
		if e.awaited.IsZero() {
			e.awaited = now.Add(soon)
		}
		until := e.awaited
		all.Go(func() {
			ctx, cancel := context.WithDeadline(ctx, until)
			defer cancel()
			_, _ = e.link.connection(ctx) // the log says what is wrong
		})
	}
}

// soon is how long whoever lists all operations waits for servers that were never listed.
const soon = 15 * time.Second

// inOrder are all servers by id, under the mutex.
func (s *Servers) inOrder() []*entry {
	return slices.SortedFunc(maps.Values(s.byID), func(a, b *entry) int { return strings.Compare(a.server.ID, b.server.ID) })
}

// find returns a server of the caller's.
func (s *Servers) find(call tools.Call, id string) (*entry, error) {
	var known []string
	for _, e := range s.of(call) {
		if e.server.ID == id {
			return e, nil
		}
		known = append(known, e.server.ID)
	}
	text := fmt.Sprintf("there is no MCP server %q", id)
	if meant := form.Suggest(id, known); meant != "" {
		text += ": " + meant
	}
	return nil, fault.New(fault.NotFound, text)
}
