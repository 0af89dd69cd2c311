package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"usher/caps/value"
	"usher/tools/mcp"
	"usher/venue"
	"usher/venue/config"
)

type mcpAddCmd struct {
	onVenue
	ID      string            `arg:"" name:"id" help:"What to call it: its tools are mcp/ID/TOOL."`
	Command []string          `arg:"" name:"command|url" passthrough:"partial" help:"The command with its arguments, after --, or the URL."`
	Env     map[string]string `placeholder:"NAME=VALUE" help:"A variable of the command. secret:NAME stands for a secret."`
	Header  map[string]string `placeholder:"NAME=VALUE" help:"A header for the URL. secret:NAME stands for a secret."`
	Root    string            `placeholder:"DIR" help:"A local folder of the server's: its paths are resolved below it."`
	Write   bool              `help:"Append the lines to the configuration, where that is one file without an mcp section."`
}

func (*mcpAddCmd) Help() string {
	return "It starts the server, lists its tools, resources and prompts, and proposes lines for the configuration. What it proposes is guessed from names: read it."
}

// proposal is what the command prints as JSON.
type proposal struct {
	Server  mcp.Server `json:"server"`
	YAML    string     `json:"yaml"`
	Tools   []mcp.Tool `json:"tools"`
	Written string     `json:"written,omitempty"` // the file
}

func (c *mcpAddCmd) Run(ctx context.Context, s *streams) error {
	server, err := serverOf(c.ID, c.Command, c.Root)
	if err != nil {
		return err
	}
	server.Env, server.Headers = c.Env, c.Header
	if err := server.Check(); err != nil {
		return misuse{err}
	}
	found, err := c.probe(ctx, s, server)
	if err != nil {
		return err
	}
	listed := found.Tools
	server.Tools = mcp.Propose(&server, listed)
	server.Resources, server.Prompts = mcp.ProposeMaterial(&server, found)
	out := proposal{Server: server, Tools: listed, YAML: sectionOf(&server)}
	if c.Write {
		if out.Written, err = c.write(s, out.YAML); err != nil {
			return err
		}
	}
	text := s.paint.safe(out.YAML)
	if !c.JSON {
		rows := [][]string{{"TOOL", "IN ITS OWN WORDS"}}
		for i := range listed {
			first, _, _ := strings.Cut(strings.TrimSpace(listed[i].Description), "\n")
			rows = append(rows, []string{listed[i].Name, value.Cut(first, 100)})
		}
		if len(listed) > 0 {
			s.note(strings.TrimRight(s.columns(rows), "\n"))
		}
	}
	if err := s.answer(c.JSON, out, text); err != nil || c.JSON {
		return err
	}
	if out.Written != "" {
		s.note("written to " + out.Written + ": read what the tools need, which is guessed from their names")
	} else {
		s.note("put this into " + c.Config + ", or say --write; what the tools need is guessed from their names: read it")
	}
	s.note(fmt.Sprintf("an agent has them by tools: [mcp/%s/*], within its capabilities", c.ID))
	return nil
}

// probe asks the server what it has. The venue is opened for the secrets that it
// is given alone.
func (c *mcpAddCmd) probe(ctx context.Context, s *streams, server mcp.Server) (found *mcp.Discovery, err error) {
	if len(server.Secrets()) == 0 {
		return mcp.Probe(ctx, server, nil)
	}
	err = c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) (err error) {
		found, err = mcp.Probe(ctx, server, func(ctx context.Context, name string) (string, error) {
			out, err := ask[struct{ Value string }](ctx, u, "secret:extract", map[string]string{"name": name})
			return out.Value, err
		})
		return err
	})
	return found, err
}

// write appends the section to the configuration. What was there stays as it is, and what
// comes of it has to be a configuration.
func (c *mcpAddCmd) write(s *streams, section string) (file string, err error) {
	at, err := s.at(c.Config)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(at); errors.Is(err, fs.ErrNotExist) {
		return "", misusef("there is no configuration %s: name one with -c, or make a project with usher init", c.Config)
	} else if err == nil && info.IsDir() {
		return "", misusef("%s is a folder: put the lines into one of its files", c.Config)
	}
	before, err := os.ReadFile(at)
	if err != nil {
		return "", err
	}
	text := strings.TrimRight(string(before), "\n")
	lines := strings.Split(text, "\n")
	switch i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "mcp:") }); {
	case i < 0:
		text += "\n\n" + section
	case strings.TrimSpace(strings.TrimPrefix(lines[i], "mcp:")) != "":
		return "", misusef("the mcp section of %s is written in brackets: put the lines into it", c.Config)
	default:
		text = strings.Join(lines[:i+1], "\n") + "\n" + strings.TrimPrefix(section, "mcp:\n") + strings.Join(lines[i+1:], "\n") + "\n"
	}
	// One that names files cannot be read from its bytes alone: it has no more faults than before.
	_, was := config.Parse(c.Config, before)
	conf, err := config.Parse(c.Config, []byte(text))
	if err == nil && !slices.ContainsFunc(conf.MCP, func(m mcp.Server) bool { return m.ID == c.ID }) {
		return "", misusef("the lines would not come to stand in the mcp section of %s: put them there", c.Config)
	}
	if len(config.Each(err)) > len(config.Each(was)) {
		return "", misuse{err}
	}
	return c.Config, replaceFile(at, []byte(text))
}

// replaceFile writes a file anew, with the rights that it had.
func replaceFile(name string, text []byte) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".usher-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(info.Mode().Perm()), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// flow is texts as YAML.
func flow(v any) string {
	raw, _ := value.Encode(v) // texts always encode
	return string(raw)
}

// sectionOf is the server as a section of a configuration, in YAML whose texts are JSON.
func sectionOf(server *mcp.Server) string {
	var b strings.Builder
	fmt.Fprintf(&b, "mcp:\n  - id: %s\n", server.ID)
	for _, part := range []struct {
		key   string
		value any
		given bool
	}{
		{"url", server.URL, server.URL != ""},
		{"command", server.Command, server.URL == ""},
		{"env", server.Env, len(server.Env) > 0},
		{"headers", server.Headers, len(server.Headers) > 0},
		{"root", server.Root, server.Root != ""},
	} {
		if part.given {
			fmt.Fprintf(&b, "    %s: %s\n", part.key, flow(part.value))
		}
	}
	if len(server.Tools) > 0 {
		b.WriteString("    tools:\n")
	}
	for _, l := range server.Tools {
		b.WriteString("      - " + toolLine(&l) + "\n")
	}
	for _, part := range []struct {
		key   string
		lines []mcp.Material
	}{{"resources", server.Resources}, {"prompts", server.Prompts}} {
		if len(part.lines) > 0 {
			fmt.Fprintf(&b, "    %s:\n", part.key)
		}
		for _, m := range part.lines {
			fmt.Fprintf(&b, "      - {match: %s, can: %s, with: %s}\n", flow(m.Match), flow(m.Can), flow(m.With))
		}
	}
	return b.String()
}

// toolLine is what calls require as a line of a configuration.
func toolLine(l *mcp.Line) string {
	text := fmt.Sprintf("{match: %s, can: %s", flow(l.Match), flow(l.Can))
	if len(l.With) == 1 {
		text += ", with: " + flow(l.With[0])
	} else if len(l.With) > 1 {
		text += ", with: " + flow(l.With)
	}
	return text + "}"
}
