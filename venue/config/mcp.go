package config

import (
	"slices"
	"strings"

	"usher/tools/mcp"
)

func (r *reader) server(e entry, s *mcp.Server) {
	if s.ID != "" && r.first("mcp "+s.ID, e) {
		r.cfg.MCP = append(r.cfg.MCP, *s)
	}
}

// servers finds MCP servers whose files are not bounded as they seem to be.
func (l *linter) servers() {
	for i := range l.config.MCP {
		s := &l.config.MCP[i]
		if s.HasFiles() && s.Root == "" {
			l.report(LevelWarning, "mcp "+s.ID, "its tools take paths of files and it has no root: a link, or another spelling, reaches what no capability covers",
				"write the server's local folder under root")
		}
	}
}

// importOf is what a reference to a tool of a server, or to all of them, means. Which tools
// there are the server says when it runs.
func (l *linter) importOf(ref string) (t tool, known []string, ok bool) {
	rest, below := strings.CutPrefix(strings.TrimPrefix(ref, "/"), "mcp/")
	id, name, named := strings.Cut(rest, "/")
	for i := range l.config.MCP {
		known = append(known, "mcp/"+l.config.MCP[i].ID+"/*")
	}
	i := slices.IndexFunc(l.config.MCP, func(s mcp.Server) bool { return s.ID == id })
	if !below || !named || i < 0 {
		return t, known, below
	}
	s, names := &l.config.MCP[i], []string{name}
	if name == "*" {
		names = append([]string{"_"}, s.Readings()...)
		for _, line := range s.Tools {
			names = append(names, strings.ReplaceAll(line.Match, "*", "_"))
		}
	}
	t.ref = ref
	for _, name := range names {
		if op, err := s.Declaration(name); err == nil {
			t.ops = append(t.ops, op)
		}
	}
	return t, known, true
}
