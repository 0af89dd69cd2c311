package mcp

import (
	"context"
	"errors"

	"usher/caps"
	"usher/tools"
	"usher/tools/fault"
)

// Summary is a server as a list has it.
type Summary struct {
	Server  string         `json:"server"`
	State   string         `json:"state" jsonschema:"idle, connecting, connected or failed"`
	Error   string         `json:"error,omitempty" jsonschema:"why it failed last"`
	Listed  bool           `json:"listed" jsonschema:"it has said which tools it has"`
	Tools   map[string]int `json:"tools" jsonschema:"how many are usable, new, changed, gone and unfit"`
	Command []string       `json:"command,omitempty" jsonschema:"with its arguments for its owner in person"`
	URL     string         `json:"url,omitempty" jsonschema:"with its path for its owner in person"`
}

// Listing has all servers, by id.
type Listing struct {
	Servers []Summary `json:"servers"`
}

// Query asks for all servers.
type Query struct{}

// Ref names a server, and a tool of it.
type Ref struct {
	Server string `json:"server" jsonschema:"id of the server in the configuration"`
	Tool   string `json:"tool,omitempty" jsonschema:"name of a tool; left out, all of them"`
}

// Acceptable names what to accept.
type Acceptable struct {
	Ref
	Seen map[string]string `json:"seen,omitempty" jsonschema:"the listedHash of each tool as a person has seen it, empty for one that is gone: others are not accepted. Left out, all are"`
}

// Detail is what is known of a tool.
type Detail struct {
	Operation string `json:"operation" jsonschema:"by which it is called"`
	State     string `json:"state" jsonschema:"usable, new, changed, gone or unfit"`
	Why       string `json:"why,omitempty" jsonschema:"that it is unfit"`
	Needs     []need `json:"needs" jsonschema:"what each call requires, as the configuration says"`
	Hash      string `json:"hash,omitempty" jsonschema:"digest of what was accepted"`
	Accepted  *Tool  `json:"accepted,omitempty"`
	Listed    *Tool  `json:"listed,omitempty" jsonschema:"what the server lists, where that was not accepted"`
	Digest    string `json:"listedHash,omitempty" jsonschema:"digest of listed"`
}

// need is an ability, and the template of its resource.
type need struct {
	Can  string `json:"can"`
	With string `json:"with"`
}

// Inspection is what is known of a server. Its texts are its own words.
type Inspection struct {
	Server       string   `json:"server"`
	From         string   `json:"from" jsonschema:"whose words these are"`
	Name         string   `json:"name,omitempty"`
	Version      string   `json:"version,omitempty"`
	Instructions string   `json:"instructions,omitempty"`
	Error        string   `json:"error,omitempty" jsonschema:"why it could not be asked now"`
	Stderr       []string `json:"stderr,omitempty" jsonschema:"the last lines that it wrote on its standard error, for its owner in person"`
	Tools        []Detail `json:"tools"`
}

// Acceptance says which tools are others by it.
type Acceptance struct {
	Server   string   `json:"server"`
	Accepted []string `json:"accepted"`
}

// Operations returns mcp:list and its like over the servers of a venue.
func Operations(s *Servers) []*tools.Operation {
	return []*tools.Operation{
		tools.New("mcp:list", "List the MCP servers that you have configured.",
			func(Query) []caps.Request { return []caps.Request{caps.Need("mcp/read", "mcp")} },
			s.list, tools.Within(caps.ScopeExactly("mcp/read", "mcp")), tools.ReadOnly()),
		tools.New("mcp:inspect", "Show what an MCP server says of its tools, what of that is accepted, and what calls of them require.",
			func(in Ref) []caps.Request { return on("mcp/read", in) },
			s.inspect, within("mcp/read"), tools.ReadOnly()),
		tools.New("mcp:accept", "Accept the tools of an MCP server as it lists them now. Only a person can.",
			func(in Acceptable) []caps.Request { return on("mcp/accept", in.Ref) },
			s.accept, within("mcp/accept"), tools.Exclusive(), tools.Idempotent()),
		tools.New("mcp:login", "Begin to sign in to an MCP server that asks who calls. Only a person can.",
			func(in LoginQuery) []caps.Request { return on("mcp/login", Ref{Server: in.Server}) },
			s.login, within("mcp/login")),
		tools.New("mcp:loginEnd", "End a sign-in to an MCP server with what the browser brought back. The venue keeps the tokens, and gives them to that server alone.",
			func(in LoginAnswer) []caps.Request { return on("mcp/login", Ref{Server: in.Server}) },
			s.loginEnd, within("mcp/login"), tools.WithSeal()),
		tools.New("mcp:questions", "List what MCP servers ask a person in the middle of calls.",
			func(QuestionQuery) []caps.Request { return []caps.Request{caps.Need("mcp/read", "mcp")} },
			s.questions, tools.Within(caps.ScopeExactly("mcp/read", "mcp")), tools.ReadOnly()),
		tools.New("mcp:answer", "Answer what an MCP server asks. Only a person can.",
			func(in QuestionAnswer) []caps.Request { return on("mcp/answer", Ref{Server: in.Server}) },
			s.answer, within("mcp/answer"), tools.WithSeal()),
		tools.New("mcp:logout", "Forget the tokens for an MCP server.",
			func(in Logout) []caps.Request { return on("mcp/login", Ref{Server: in.Server}) },
			s.logout, within("mcp/login"), tools.Idempotent()),
	}
}

func within(can string) tools.Option { return tools.Within(caps.ScopeUnder(can, "mcp", 1, 1)) }

func on(can string, in Ref) []caps.Request {
	if !serverID().MatchString(in.Server) {
		return []caps.Request{caps.Invalid(errors.New("server is no id of an MCP server: mcp:list has them"))}
	}
	return []caps.Request{caps.Need(can, "mcp/"+in.Server)}
}

// of returns the servers, where they are the caller's.
func (s *Servers) of(call tools.Call) []*entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if call.Owner() != s.opts.Owner {
		return nil
	}
	return s.inOrder()
}

func (s *Servers) list(_ context.Context, call tools.Call, _ Query) (Listing, error) {
	out := Listing{Servers: []Summary{}}
	for _, e := range s.of(call) {
		sum := Summary{Server: e.server.ID, Command: e.server.Command, URL: e.server.URL, Tools: map[string]int{}}
		if !call.Authority().IsUnbounded() { // arguments and paths may hold keys
			sum.Command, sum.URL = sum.Command[:min(len(sum.Command), 1)], e.server.originOnly(sum.URL)
		}
		var err error
		if sum.State, err = e.link.state(); err != nil {
			sum.Error = err.Error()
		}
		s.mu.Lock()
		sum.Listed = e.record.Origin != ""
		for i := range e.record.Pins {
			sum.Tools[e.state(&e.record.Pins[i])]++
		}
		s.mu.Unlock()
		out.Servers = append(out.Servers, sum)
	}
	return out, nil
}

func (s *Servers) inspect(ctx context.Context, call tools.Call, in Ref) (Inspection, error) {
	e, err := s.find(call, in.Server)
	if err != nil {
		return Inspection{}, err
	}
	out := Inspection{Server: in.Server, From: words(in.Server), Tools: []Detail{}}
	if err := e.ask(ctx); err != nil {
		out.Error = err.Error()
	}
	if call.Authority().IsUnbounded() { // it may say what others called
		out.Stderr = e.link.said.list()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out.Name, out.Version, out.Instructions = e.record.Name, e.record.Version, e.record.Instructions
	for i := range e.record.Pins {
		if p := &e.record.Pins[i]; in.Tool == "" || p.name() == in.Tool {
			out.Tools = append(out.Tools, e.detail(p))
		}
	}
	if in.Tool != "" && len(out.Tools) == 0 {
		return out, fault.New(fault.NotFound, "MCP server "+in.Server+" has no such tool")
	}
	return out, nil
}

func (s *Servers) accept(ctx context.Context, call tools.Call, in Acceptable) (Acceptance, error) {
	if !call.Authority().IsUnbounded() {
		return Acceptance{}, fault.New(fault.Refused, "only a person accepts tools: agents are told what to do by what tools say of themselves")
	}
	e, err := s.find(call, in.Server)
	if err != nil {
		return Acceptance{}, err
	}
	if err := e.ask(ctx); err != nil {
		return Acceptance{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next, names := e.record.accept(in.Tool, in.Seen)
	out := Acceptance{Server: in.Server, Accepted: append([]string{}, names...)}
	if len(names) == 0 {
		return out, nil
	}
	return out, s.keep(ctx, e, next)
}

// ask has the server list its tools now.
func (e *entry) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, e.of.opts.CallTime, errLate)
	defer cancel()
	live, err := e.link.connection(ctx)
	if err != nil {
		return err
	}
	return e.link.list(ctx, live)
}

// state is that of a tool, under the mutex.
func (e *entry) state(p *pin) string {
	if e.isLeftOut(p.name()) {
		return Unfit
	}
	return p.state()
}

func (e *entry) detail(p *pin) Detail {
	d := Detail{Operation: e.server.prefix() + p.name(), State: e.state(p), Why: p.Unfit, Accepted: p.Accepted, Listed: p.Listed, Needs: e.server.needs(p.name())}
	if e.isLeftOut(p.name()) {
		d.Why = "models could not tell it from another tool"
	}
	if p.Accepted != nil {
		d.Hash = p.Accepted.hash()
	}
	if p.Listed != nil {
		d.Digest = p.Listed.hash()
	}
	return d
}

// needs are what calls of a tool require.
func (s *Server) needs(tool string) (list []need) {
	line := s.line(tool)
	if line == nil {
		line = &Line{Can: "invoke"}
	}
	for _, d := range line.demands() {
		if len(d.With) == 0 {
			d.With = templates{s.prefix() + tool}
		}
		for _, with := range d.With {
			list = append(list, need{d.Can, with})
		}
	}
	return list
}
