package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"usher/caps"
	"usher/caps/value"
	"usher/tools"
	"usher/tools/form"
)

// Server is a server as a configuration has it: a command that speaks over its standard
// streams, or a URL.
type Server struct {
	_           struct{}          `noun:"an MCP server" required:"id" example:"{'id': 'files', 'command': ['npx', '-y', '@modelcontextprotocol/server-filesystem', '/srv/docs']}"`
	ID          string            `json:"id" example:"files" pattern:"^[a-z0-9][a-z0-9-]{0,31}$" jsonschema:"Its tools are mcp/<id>/<tool>."`
	Command     []string          `json:"command,omitempty" noun:"an argument" each:"its text" example:"['npx', '-y', '@modelcontextprotocol/server-everything']" jsonschema:"A program and its arguments, run in the configuration's folder. It is started when it is first called."`
	URL         string            `json:"url,omitempty" example:"https://mcp.example.org/mcp" pattern:"^https?://" jsonschema:"Where it speaks streamable HTTP. Redirects are not followed."`
	Env         map[string]string `json:"env,omitempty" noun:"the variable" example:"{'API_KEY': 'secret:NAME'}" jsonschema:"Variables of command, beside PATH, HOME and the like: no others of this process are handed on. secret:NAME stands for a secret."`
	Headers     map[string]string `json:"headers,omitempty" noun:"the header" example:"{'Authorization': 'Bearer secret:NAME'}" jsonschema:"Headers of each request to url. secret:NAME stands for a secret."`
	OAuth       OAuth             `json:"oauth,omitzero" jsonschema:"How a person signs in to url, where it asks who calls. It asks and tells by itself; this is for servers that want to be asked in one way."`
	Root        string            `json:"root,omitempty" example:"/srv/docs" jsonschema:"A local folder of the server's. What ends a template of file:// is a path below it, and is resolved through links before it is a resource."`
	Elicitation string            `json:"elicitation,omitempty" example:"ask" enum:"ask|refuse" want:"ask or refuse" jsonschema:"What becomes of questions that it asks in the middle of a call: ask has a person answer them, by usher mcp questions and usher mcp answer. Default: refuse."`
	Tools       []Line            `json:"tools,omitempty" example:"[{'match': 'read_*', 'can': 'crud/read', 'with': 'file://docs/{path}'}]" jsonschema:"What calls require. The first line that matches a tool counts; without one it is invoke on mcp/<id>/<tool>."`
	Resources   []Material        `json:"resources,omitempty" example:"[{'match': 'docs://{name}', 'can': 'crud/read', 'with': 'docs/{name}'}]" jsonschema:"Which of its resources are read, by mcp/<id>/resources/read, which takes a uri; the first line that matches counts. Default: none."`
	Prompts     []Material        `json:"prompts,omitempty" example:"[{'match': 'review', 'can': 'crud/read', 'with': 'prompts/review'}]" jsonschema:"Which of its prompts are read, by mcp/<id>/prompts/get, which takes a name and arguments. Default: none."`

	Dir string `json:"-"` // where a command runs, and relative roots are
}

// OAuth says how a person signs in to a server. The zero value registers the venue as a
// client where it is asked to.
type OAuth struct {
	_            struct{} `noun:"oauth" example:"{'client_id': 'usher', 'issuer': 'https://login.example.org'}"`
	ClientID     string   `json:"client_id,omitempty" example:"usher" jsonschema:"The client that this venue is at the authorization server; an https URL is that of a client ID metadata document. Default: it registers itself."`
	ClientSecret string   `json:"client_secret,omitempty" example:"secret:NAME" pattern:"^secret:" jsonschema:"The secret of client_id: secret:NAME. It is sent to issuer alone."`
	Issuer       string   `json:"issuer,omitempty" example:"https://login.example.org" jsonschema:"The authorization server that knows client_id; another is refused."`
	Scopes       []string `json:"scopes,omitempty" noun:"a scope" each:"its text" example:"['read']" jsonschema:"What to ask for beside what the server names."`
	AllowPrivate bool     `json:"allow_private,omitempty" example:"true" jsonschema:"Whether the authorization server may be in this machine or a private network. Default: false, unless url is in this machine."`
}

// Check says what is wrong with it.
func (o *OAuth) Check() error {
	switch {
	case o.ClientSecret != "" && (o.ClientID == "" || o.Issuer == ""):
		return form.In("client_secret", errors.New("a secret goes to the server that knows it: write client_id and issuer beside it"))
	case o.ClientSecret != "" && secretHandle().FindString(o.ClientSecret) != o.ClientSecret:
		return form.In("client_secret", errors.New("this is no handle of a secret: write secret:NAME, and store it with usher secrets set NAME"))
	case len(validScopes(o.Scopes)) != len(o.Scopes):
		return form.In("scopes", fmt.Errorf("one of them is no scope, or stands twice: give %d at most, without spaces", maxScopes))
	}
	return nil
}

// asksWhoCalls reports whether a person may sign in to the server.
func (s *Server) asksWhoCalls() bool {
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			return false
		}
	}
	return s.URL != ""
}

// Line says what calls of some tools require.
type Line struct {
	_     struct{}      `noun:"a line of tools" required:"match,can" example:"{'match': 'read_*', 'can': 'crud/read', 'with': 'file://docs/{path}'}"`
	Match string        `json:"match" example:"read_*" jsonschema:"A tool's name, in which * stands for any text."`
	Can   string        `json:"can" example:"crud/read" jsonschema:"The ability."`
	With  templates     `json:"with,omitempty" example:"file://docs/{path}" jsonschema:"The resource, or a list of them: {field} stands for a text of the input, or one each where it is a list. It is one segment, unless it ends a template of file:// or is {field...}. Default: mcp/<id>/<tool>."`
	Also  []requirement `json:"also,omitempty" example:"[{'can': 'crud/write', 'with': 'file://docs/{destination}'}]" jsonschema:"What they require beside that."`
}

// requirement is one more thing that a call requires.
type requirement struct {
	_    struct{}  `noun:"a requirement" required:"can,with" example:"{'can': 'crud/write', 'with': 'file://docs/{destination}'}"`
	Can  string    `json:"can" example:"crud/write" jsonschema:"The ability."`
	With templates `json:"with" example:"file://docs/{destination}" jsonschema:"The resource, or a list of them."`
}

// templates are one template, or a list of them.
type templates []string

// UnmarshalJSON takes a text or a list of texts.
func (t *templates) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = templates{one}
		return nil
	}
	var list []string
	if err := json.Unmarshal(data, &list); err != nil || len(list) == 0 {
		return errors.New("this is no template, nor a list of them: write for example file://docs/{path}")
	}
	*t = list
	return nil
}

var oneOrMore = &jsonschema.Schema{Types: []string{"string", "array"}, Items: &jsonschema.Schema{Type: "string"}, MinItems: new(1)}

// Refine has with as [templates.UnmarshalJSON] takes it.
func (*Line) Refine(s *jsonschema.Schema) { refineWith(s) }

// Refine has with as [templates.UnmarshalJSON] takes it.
func (*requirement) Refine(s *jsonschema.Schema) { refineWith(s) }

func refineWith(s *jsonschema.Schema) {
	with := *oneOrMore
	with.Description = s.Properties["with"].Description
	s.Properties["with"] = &with
}

// Refine adds a rule of Check.
func (*Server) Refine(s *jsonschema.Schema) { s.OneOf = form.OneOf("command", "url") }

var serverID = value.Form(`^[a-z0-9][a-z0-9-]{0,31}$`)

// Check says what is wrong with the server itself.
func (s *Server) Check() error {
	switch u, err := url.Parse(s.URL); {
	case !serverID().MatchString(s.ID):
		return form.In("id", fmt.Errorf("%q is no id of a server: give 1 to 32 of a-z, 0-9 and -, the first no -", s.ID))
	case (len(s.Command) == 0) == (s.URL == ""):
		return errors.New("an MCP server has either command or url: write one of them")
	case len(s.Command) > 0 && s.Command[0] == "":
		return form.In("command", errors.New("the first is empty: write the program"))
	case s.URL != "" && (err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http"):
		return form.In("url", errors.New("this is no http or https URL: give one without a user name"))
	case s.URL != "" && len(s.Env) > 0:
		return form.In("env", errors.New("env is for command: send headers to a URL"))
	case len(s.Command) > 0 && len(s.Headers) > 0:
		return form.In("headers", errors.New("headers are for url: a command has env"))
	case !reflect.ValueOf(s.OAuth).IsZero() && !s.asksWhoCalls():
		return form.In("oauth", errors.New("oauth is for a url without a header Authorization, which says already who calls"))
	}
	if err := s.OAuth.Check(); err != nil {
		return form.In("oauth", err)
	}
	for i := range s.Tools {
		err := s.Tools[i].Check()
		if err == nil && s.Root != "" {
			err = s.Tools[i].checkRoot()
		}
		if err != nil {
			return form.In("tools", err)
		}
	}
	return s.checkMaterial()
}

// checkRoot says of which template the fields are not one path below the root: the server
// gets that path whole, and would read what stands before it, or no path, by rules of its own.
func (l *Line) checkRoot() error {
	for _, d := range l.demands() {
		for _, text := range d.With {
			t, err := parseTemplate(text)
			if err != nil {
				return err
			}
			if n := len(t.fields); strings.HasPrefix(text, fileScheme) && n > 0 && (n > 1 || !t.fields[0].file) {
				return form.In("with", fmt.Errorf("%s: the server has a root, below which a template of file:// has one path: let one field end it, as file://docs/{path} does", text))
			}
		}
	}
	return nil
}

// Check says what is wrong with a line itself.
func (l *Line) Check() error {
	if _, err := path.Match(l.Match, ""); err != nil || strings.ContainsAny(l.Match, `?[]\/`) {
		return form.In("match", fmt.Errorf("%q matches no tool: write its name, with * for any text", l.Match))
	}
	for i, d := range l.demands() {
		if err := d.Check(); err != nil && i > 0 {
			return form.In("also", err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// Check says what is wrong with a requirement itself.
func (d *requirement) Check() error {
	if _, err := caps.ParseAbility(d.Can); err != nil {
		return form.In("can", err)
	}
	for _, text := range d.With {
		if _, err := parseTemplate(text); err != nil {
			return form.In("with", err)
		}
	}
	return nil
}

// demands are what the line requires, its own first.
func (l *Line) demands() []requirement {
	return append([]requirement{{Can: l.Can, With: l.With}}, l.Also...)
}

// line is the first that matches a tool; nil for none.
func (s *Server) line(tool string) *Line {
	i := slices.IndexFunc(s.Tools, func(l Line) bool {
		ok, _ := path.Match(l.Match, tool) // Check has seen it
		return ok
	})
	if i < 0 {
		return nil
	}
	return &s.Tools[i]
}

// prefix is where its tools have their paths.
func (s *Server) prefix() string { return "mcp/" + s.ID + "/" }

// secretHandle finds the handles of secrets in a text of a configuration.
var secretHandle = value.Form(`\bsecret:(` + tools.SecretName + `)`)

// Secrets are the names of the secrets that the server is given, sorted.
func (s *Server) Secrets() (names []string) {
	for _, texts := range []map[string]string{s.Env, s.Headers} {
		for _, text := range texts {
			for _, m := range secretHandle().FindAllStringSubmatch(text, -1) {
				names = append(names, m[1])
			}
		}
	}
	if name, is := strings.CutPrefix(s.OAuth.ClientSecret, "secret:"); is {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// HasFiles reports whether a template of the server is one of file://.
func (s *Server) HasFiles() bool {
	return slices.ContainsFunc(s.Tools, func(l Line) bool {
		return slices.ContainsFunc(l.demands(), func(d requirement) bool {
			return slices.ContainsFunc(d.With, func(text string) bool { return strings.HasPrefix(text, fileScheme) && strings.Contains(text, "{") })
		})
	})
}

// fileScheme begins the resources that are files.
const fileScheme = "file://"
