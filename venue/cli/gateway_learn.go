package cli

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"usher/caps"
	"usher/tools/agents"
	tool "usher/tools/mcp"
	"usher/venue/config"
)

// learner is the agent whose capabilities are learned.
const learner = "client"

// lessons is what a file has of the server and of the client, as it is now: --learn adds to
// both, and leaves the rest as it stands.
type lessons struct {
	text   string
	server tool.Server
	caps   caps.Set
}

// knows reads the file that is there already, for this server.
func (c *gatewayCmd) knows(s *streams, server *tool.Server) (*lessons, error) {
	raw, err := s.readFile(c.Learn)
	if err != nil {
		return nil, misuse{err}
	}
	l := &lessons{text: string(raw)}
	conf, err := config.Parse(c.Learn, raw)
	if err != nil {
		return nil, misuse{err}
	}
	i := slices.IndexFunc(conf.MCP, func(m tool.Server) bool { return m.ID == server.ID })
	j := slices.IndexFunc(conf.Agents, func(a agents.Spec) bool { return a.ID == learner })
	if i < 0 || j < 0 {
		return nil, misusef("%s is there already, without the MCP server %s and the agent %s that --learn writes: name a new file", c.Learn, server.ID, learner)
	}
	l.server = conf.MCP[i]
	if l.server.URL != server.URL || !slices.Equal(l.server.Command, server.Command) || l.server.Root != server.Root {
		return nil, misusef("%s is there already, and its server %s is reached otherwise: name a new file, or another --id", c.Learn, server.ID)
	}
	l.caps, _ = conf.Agents[j].Caps.Set()
	return l, nil
}

// lacks is what of lines and capabilities the file does not have.
func (l *lessons) lacks(lines []tool.Line, needed []caps.Capability) (tools, grants []string) {
	for _, line := range lines {
		if !slices.ContainsFunc(l.server.Tools, func(has tool.Line) bool { ok, _ := path.Match(has.Match, line.Match); return ok }) {
			tools = append(tools, toolLine(&line))
		}
	}
	for _, need := range needed {
		if !l.caps.IsUnrestricted() && !has(l.caps, need) {
			grants = append(grants, grantLine(need))
		}
	}
	return tools, grants
}

// add adds what was used, and checks that it stands where it was meant to.
func (c *gatewayCmd) add(s *streams, server *tool.Server, needed []caps.Capability) (added int, err error) {
	l, err := c.knows(s, server) // it may be another by now
	if err != nil {
		return 0, err
	}
	tools, grants := l.lacks(server.Tools, needed)
	if added = len(tools) + len(grants); added == 0 {
		return 0, nil
	}
	text, ok := put(l.text, "mcp", server.ID, "tools", tools)
	if ok {
		text, ok = put(text, "agents", learner, "caps", grants)
	}
	if ok {
		conf, err := config.Parse(c.Learn, []byte(text))
		ok = err == nil && slices.ContainsFunc(conf.MCP, func(m tool.Server) bool {
			return m.ID == server.ID && len(m.Tools) == len(l.server.Tools)+len(tools)
		}) && slices.ContainsFunc(conf.Agents, func(a agents.Spec) bool {
			set, _ := a.Caps.Set()
			return a.ID == learner && !slices.ContainsFunc(needed, func(need caps.Capability) bool { return !set.IsUnrestricted() && !has(set, need) })
		})
	}
	if !ok {
		return 0, fmt.Errorf("%s is written in a way that nothing can be added to. It lacks, below the tools of %s and the caps of %s:\n%s",
			c.Learn, server.ID, learner, strings.Join(append(tools, grants...), "\n"))
	}
	at, err := s.at(c.Learn)
	if err != nil {
		return 0, err
	}
	return added, replaceFile(at, []byte(text))
}

// has reports whether one of the capabilities covers what is needed, whatever denials say.
func has(set caps.Set, need caps.Capability) bool {
	return slices.ContainsFunc(slices.Collect(set.All()), func(c caps.Capability) bool { return c.Covers(need) })
}

// put adds items to a list of an entry of a section, where these are written in lines, and
// reports whether they are.
func put(text, section, id, key string, items []string) (string, bool) {
	if len(items) == 0 {
		return text, true
	}
	lines := strings.Split(text, "\n")
	from := slices.IndexFunc(lines, regexp.MustCompile(`^`+section+`:\s*(#.*)?$`).MatchString)
	if from < 0 {
		return text, false
	}
	to := below(lines, from, 0)
	entry := regexp.MustCompile(`^\s*- id: ["']?` + regexp.QuoteMeta(id) + `["']?\s*(#.*)?$`)
	at := slices.IndexFunc(lines[from:to], entry.MatchString)
	if at < 0 {
		return text, false
	}
	at += from
	dash := depth(lines[at])
	to = below(lines, at, dash)
	indent := strings.Repeat(" ", dash+2)
	head := regexp.MustCompile(`^` + indent + key + `:\s*(\[\])?\s*(#.*)?$`)
	var where int
	inner := indent + "  "
	if i := slices.IndexFunc(lines[at:to], head.MatchString); i < 0 {
		lines = slices.Insert(lines, at+1, indent+key+":")
		where = at + 1
	} else {
		where = at + i
		lines[where] = strings.Replace(lines[where], " []", "", 1)
		for n := below(lines, where, dash+2) - 1; n > at+i; n-- {
			if text := strings.TrimSpace(lines[n]); text != "" && text[0] != '#' {
				where = max(where, n)
				inner = lines[n][:depth(lines[n])] // in the end that of the first item
			}
		}
	}
	for i, item := range items {
		items[i] = inner + "- " + item
	}
	return strings.Join(slices.Insert(lines, where+1, items...), "\n"), true
}

// below is the first line behind one that is no part of what stands below it.
func below(lines []string, at, indent int) int {
	for i := at + 1; i < len(lines); i++ {
		if text := strings.TrimSpace(lines[i]); text != "" && text[0] != '#' && depth(lines[i]) <= indent {
			return i
		}
	}
	return len(lines)
}

func depth(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
