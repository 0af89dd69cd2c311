package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"usher/tools/mcp"
	"usher/venue"
	"usher/venue/config"
)

// given is what the suite tells of a scenario.
type given struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	Issuer       string `json:"issuer"`
	ToolCalls    []struct {
		Name      string         `json:"name"`
		Arguments map[string]any `json:"arguments"`
	} `json:"toolCalls"`
}

// user calls operations of the server of a scenario.
type user struct {
	*venue.User
	ctx context.Context //nolint:containedctx // the program is one call
}

// suiteServer is what the server of a scenario is called in the venue.
const suiteServer = "suite"

// reachSuite is the client of the suite: it reaches the server of a scenario, at a URL, through a
// venue, as the venue's user does.
func reachSuite(ctx context.Context, args []string) error {
	at, scenario := args[0], os.Getenv("MCP_CONFORMANCE_SCENARIO")
	var g given
	if about := os.Getenv("MCP_CONFORMANCE_CONTEXT"); about != "" {
		if err := json.Unmarshal([]byte(about), &g); err != nil {
			return err
		}
	}
	s := mcp.Server{ID: suiteServer, URL: at, Elicitation: mcp.AskPerson}
	switch {
	case g.ClientID != "" && g.ClientSecret != "":
		u, err := url.Parse(at)
		if err != nil {
			return err
		}
		if g.Issuer == "" { // the suite tells it by the server's address alone
			if g.Issuer, err = issuer(ctx, u); err != nil {
				return err
			}
		}
		s.OAuth = mcp.OAuth{ClientID: g.ClientID, ClientSecret: "secret:CLIENT", Issuer: g.Issuer}
	case scenario == "auth/basic-cimd":
		s.OAuth.ClientID = "https://conformance-test.local/client-metadata.json"
	}
	conf := &config.Config{User: "owner"}
	v, err := venue.Open(ctx, &venue.Options{Config: conf, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	defer v.Close()
	owner, err := v.User(ctx, conf.User)
	if err != nil {
		return err
	}
	u := user{owner, ctx}
	if g.ClientSecret != "" {
		if err := u.call("secret:set", map[string]string{"name": "CLIENT", "value": g.ClientSecret}, nil); err != nil {
			return err
		}
	}
	conf.MCP = []mcp.Server{s}
	if err := v.Configure(ctx, conf); err != nil {
		return err
	}
	return u.play(scenario, g)
}

// issuer is the authorization server of a protected resource.
func issuer(ctx context.Context, at *url.URL) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.ResolveReference(&url.URL{Path: "/.well-known/oauth-protected-resource" + at.Path}).String(), nil)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var doc struct {
		Servers []string `json:"authorization_servers"`
	}
	if err := json.NewDecoder(res.Body).Decode(&doc); err != nil || len(doc.Servers) == 0 {
		return "", errors.Join(errors.New("no authorization server is told"), err)
	}
	return doc.Servers[0], nil
}

func (u user) call(operation string, input, out any) error {
	raw, err := u.Invoke(u.ctx, operation, input)
	if err == nil && out != nil {
		err = json.Unmarshal(raw, out)
	}
	return err
}

// play does what a scenario asks for.
func (u user) play(scenario string, g given) error {
	seen, err := u.tools()
	if err != nil {
		return err
	}
	switch scenario {
	case "initialize", "request-metadata", "json-schema-ref-no-deref":
		return nil
	case "tools_call":
		return u.tool("add_numbers", map[string]int{"a": 5, "b": 3})
	case "elicitation-sep1034-client-defaults":
		return u.answering(nil, func() error { return u.tool("test_client_elicitation_defaults", nil) })
	case "sep-2322-client-request-state":
		return u.answering(map[string]any{"confirmed": true}, func() error {
			for _, name := range []string{"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"} {
				log.Print(name, ": ", u.tool(name, nil)) // the suite has some fail
			}
			return nil
		})
	case "sse-retry":
		return u.tool("test_reconnection", nil)
	case "json-schema-2020-12-preservation":
		for _, d := range seen.Tools {
			if d.Accepted != nil && d.Accepted.Name == "json_schema_2020_12_tool" {
				return u.tool("json_schema_echo", map[string]any{"schema": d.Accepted.Input})
			}
		}
		return errors.New("the server has no tool json_schema_2020_12_tool")
	case "http-custom-headers":
		for _, c := range g.ToolCalls {
			maps.DeleteFunc(c.Arguments, func(_ string, v any) bool { return v == nil }) // the schema of the tool has no null
			log.Print(u.tool(c.Name, c.Arguments))
		}
		return nil
	case "http-invalid-tool-headers", "http-standard-headers":
		for _, d := range seen.Tools {
			log.Print(u.tool(strings.TrimPrefix(d.Operation, "mcp/"+suiteServer+"/"), map[string]string{"region": "us-west1"}))
		}
		return nil
	}
	if strings.HasPrefix(scenario, "auth/") {
		return u.tool("test-tool", nil)
	}
	return fmt.Errorf("%s is no scenario of this client", scenario)
}

// tool calls a tool of the server, and signs in where that asks for it.
func (u user) tool(name string, input any) error {
	if input == nil {
		input = struct{}{}
	}
	return u.signedIn(func() error { return u.call("mcp/"+suiteServer+"/"+name, input, nil) })
}

// answering does f, and answers all that the server asks meanwhile.
func (u user) answering(content map[string]any, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	for {
		select {
		case err := <-done:
			return err
		case <-time.After(20 * time.Millisecond):
		}
		var list mcp.Questions
		if err := u.call("mcp:questions", mcp.QuestionQuery{}, &list); err != nil {
			return err
		}
		for _, q := range list.Questions {
			if err := u.call("mcp:answer", mcp.QuestionAnswer{Server: suiteServer, ID: q.ID, Action: "accept", Content: content}, nil); err != nil {
				return err
			}
		}
	}
}

// tools lists those of the server.
func (u user) tools() (seen mcp.Inspection, err error) {
	err = u.signedIn(func() error {
		seen = mcp.Inspection{}
		if err := u.call("mcp:inspect", mcp.Ref{Server: suiteServer}, &seen); err != nil {
			return err
		}
		if seen.Error != "" {
			return errors.New(seen.Error)
		}
		return nil
	})
	return seen, err
}

// maxLogins is how often somebody signs in for one call.
const maxLogins = 3

// signedIn does f, and signs in where the server asks who calls.
func (u user) signedIn(f func() error) error {
	err := f()
	for range maxLogins {
		if err == nil || !strings.Contains(err.Error(), "usher mcp login") {
			return err
		}
		if err := u.login(); err != nil {
			return err
		}
		err = f()
	}
	return err
}

// login signs in as a browser does: the suite's server sends it back at once.
func (u user) login() error {
	var at mcp.Login
	if err := u.call("mcp:login", mcp.LoginQuery{Server: suiteServer, Redirect: "http://127.0.0.1:3000/callback"}, &at); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(u.ctx, http.MethodGet, at.Address, nil)
	if err != nil {
		return err
	}
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := browser.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	back, err := res.Location()
	if err != nil {
		return err
	}
	q := back.Query()
	return u.call("mcp:loginEnd", mcp.LoginAnswer{Server: suiteServer, ID: at.ID, Code: q.Get("code"), State: q.Get("state"), Issuer: q.Get("iss"), Error: q.Get("error")}, nil)
}
