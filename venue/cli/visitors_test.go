package cli_test

import (
	"crypto/ed25519"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"usher/tools/agentauth/client"
	"usher/ucan"
	"usher/venue"
	"usher/venue/cli"
	"usher/venue/config"
	"usher/venue/server"
	"usher/venue/visitors"
)

const letsIn = `user: me
store: data
data: [{path: w/notes/a, value: one}]
agentauth:
  capabilities:
    - {name: read_note, operation: 'covia:read', caps: [{with: w/notes, can: crud/read}], default: true, public: true}
    - {name: write_note, operation: 'covia:write', caps: [{with: w/notes, can: crud/write}], public: true}
  autonomous: {owner: me, capabilities: [read_note]}
`

// guests is a venue in a folder that lets agents in.
type guests struct {
	*testing.T
	v    *venue.Venue
	url  string
	shut func()
}

func openGuests(t *testing.T, file string) *guests {
	t.Helper()
	cfg, err := config.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	v, err := venue.Open(t.Context(), &venue.Options{Dir: cfg.StoreDir(), Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(v, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	return &guests{t, v, h.URL, func() {
		h.Close()
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	}}
}

func privateKey(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// host is a program with a key of its own.
func (g *guests) host() *client.Host {
	g.Helper()
	found, err := client.Discover(g.Context(), g.url, nil)
	if err != nil {
		g.Fatal(err)
	}
	return found.Host(privateKey(g.T))
}

// register registers an agent, which a person approves where one is named.
func (g *guests) register(h *client.Host, r *client.Registration, by string, limits map[string]visitors.Constraints) *client.Agent {
	g.Helper()
	key := privateKey(g.T)
	a, err := h.Register(g.Context(), key.Public().(ed25519.PublicKey), r)
	if err != nil {
		g.Fatal(err)
	}
	if by != "" {
		_, _, err := g.v.Visitors().Answer(g.Context(), visitors.Person{DID: g.did(by)}, visitors.Which{Code: a.Approval.UserCode}, visitors.Answer{Approve: true, Capabilities: limits})
		if err != nil {
			g.Fatal(err)
		}
	}
	return h.Agent(a.AgentID, key)
}

func (g *guests) did(name string) ucan.DID {
	g.Helper()
	u, err := g.v.User(g.Context(), name)
	if err != nil {
		g.Fatal(err)
	}
	return u.DID()
}

// Who came in from elsewhere is listed with what it may do, and is revoked: an agent, one grant,
// a host with all its agents. Its key registers nothing again.
func TestVisitors(t *testing.T) {
	file := project(t, letsIn)
	if out := command(t, cli.ExitOK, "visitors", "list", "-c", file); !strings.Contains(out, "nobody is here from elsewhere") {
		t.Errorf("a venue with no visitors says %q", out)
	}
	g := openGuests(t, file)
	limits, err := visitors.ParseConstraints(json.RawMessage(`{"path": "w/notes/a"}`))
	if err != nil {
		t.Fatal(err)
	}
	mine, others, stranger := g.host(), g.host(), g.host()
	wants := []client.Want{{Name: "read_note"}, {Name: "write_note"}}
	reader := g.register(mine, &client.Registration{Name: "Reader", HostName: "Laptop", Capabilities: wants, Reason: "to read"}, "me", map[string]visitors.Constraints{"read_note": {}, "write_note": limits})
	second := g.register(mine, &client.Registration{Name: "Second"}, "", nil)
	bobs := g.register(others, &client.Registration{Name: "Bobs"}, "bob", nil)
	robot := g.register(stranger, &client.Registration{Name: "Robot", Mode: "autonomous"}, "", nil)
	waits := g.register(g.host(), &client.Registration{Name: "Waits", Capabilities: wants}, "", nil)
	if _, err := reader.Execute(t.Context(), &client.Call{Capability: "write_note", Arguments: json.RawMessage(`{"path":"w/notes/b","value":1}`)}, nil); err == nil {
		t.Error("it writes beyond its limits")
	}
	bob := g.did("bob")
	room := g.v.Visitors()
	if list, _, err := room.Agents(t.Context(), bob, "", ""); err != nil || len(list) != 1 || list[0].ID != bobs.ID {
		t.Errorf("bob sees %v %v, want his own agent", list, err)
	}
	if list, _, err := room.Hosts(t.Context(), bob, ""); err != nil || len(list) != 1 || list[0].User != bob {
		t.Errorf("bob sees the hosts %v %v, want his own", list, err)
	}
	if _, err := room.FindFor(t.Context(), bob, reader.ID); err == nil {
		t.Error("bob sees an agent of somebody else")
	}
	if _, err := room.Revoke(t.Context(), nil, bob, reader.ID); err == nil {
		t.Error("bob revokes an agent of somebody else")
	}
	g.shut()

	list := command(t, cli.ExitOK, "visitors", "list", "-c", file, "--read-only")
	for _, want := range []string{
		reader.ID + "  Reader", "Laptop", "you", "active", "read_note; write_note when /path is ", second.ID, bobs.ID, bob.String(), robot.ID, waits.ID, "read_note (pending)", "pending",
	} {
		if !strings.Contains(list, want) {
			t.Errorf("the list has no %q:\n%s", want, list)
		}
	}
	show := command(t, cli.ExitOK, "visitors", "show", "-c", file, reader.ID)
	for _, want := range []string{"why     to read", "active, delegated", "grant   write_note when /path is ", "by you", "bafy"} {
		if !strings.Contains(show, want) {
			t.Errorf("what is shown has no %q:\n%s", want, show)
		}
	}
	if raw := command(t, cli.ExitOK, "visitors", "show", "-c", file, "--json", waits.ID); strings.Contains(raw, `"code"`) || strings.Contains(raw, `"device"`) || !strings.Contains(raw, `"status": "pending"`) {
		t.Errorf("as JSON it is %s", raw)
	}
	for _, args := range [][]string{nil, {"--agent", reader.ID}, {"--agent", "visitor:" + reader.ID}} {
		got := command(t, cli.ExitOK, append([]string{"audit", "list", "--denied", "-c", file}, args...)...)
		if !strings.Contains(got, "refused  "+reader.ID+"  agent-auth execute write_note  -         -       constraint_violated: ") || strings.Contains(got, "register") {
			t.Errorf("what was refused is told as\n%s", got)
		}
	}
	if got := command(t, cli.ExitOK, "audit", "list", "--denied", "--agent", second.ID, "-c", file); strings.Contains(got, "constraint_violated") {
		t.Errorf("of another agent are listed\n%s", got)
	}
	for _, args := range [][]string{{"show", "agt_none"}, {"revoke", "agt_none"}, {"revoke", "hst_none"}, {"revoke", reader.ID, "--capability", "none"}} {
		if got := command(t, cli.ExitMisuse, append([]string{"visitors"}, append(args, "-c", file)...)...); !strings.Contains(got, "usher visitors ") {
			t.Errorf("visitors %q says %q, and not what to do", args, got)
		}
	}
	command(t, cli.ExitMisuse, "visitors", "revoke", reader.ID, "-c", file, "--capability", "")
	command(t, cli.ExitOK, "visitors", "revoke", reader.ID, "-c", file, "--capability", "write_note")
	if got := command(t, cli.ExitOK, "visitors", "list", "-c", file); !strings.Contains(got, "  read_note  ") || strings.Contains(got, "write_note when") {
		t.Errorf("after one grant was revoked the list is\n%s", got)
	}
	command(t, cli.ExitOK, "visitors", "revoke", second.ID, "-c", file)
	hosts := command(t, cli.ExitOK, "visitors", "list", "--hosts", "-c", file, "--json")
	var known []visitors.Host
	if err := json.Unmarshal([]byte(hosts), &known); err != nil || len(known) != 4 {
		t.Fatalf("the hosts are %s: %v", hosts, err)
	}
	for i := range known {
		want := "with 1 agent\n"
		if got := command(t, cli.ExitOK, "visitors", "revoke", known[i].ID, "-c", file); !strings.Contains(got, want) {
			t.Errorf("host %s: %q, want %q", known[i].Name, got, want)
		}
	}
	if got := command(t, cli.ExitOK, "visitors", "list", "-c", file); !strings.Contains(got, "nobody") {
		t.Errorf("all were revoked, and the list is\n%s", got)
	}
	if got := command(t, cli.ExitOK, "visitors", "list", "-c", file, "--all", "--host", known[0].ID); strings.Count(got, "revoked") == 0 {
		t.Errorf("of a host that was revoked the list of all is\n%s", got)
	}
	if got := command(t, cli.ExitOK, "audit", "list", "-c", file); strings.Count(got, `"call":"revoke-host"`) != 4 {
		t.Errorf("the ledger says\n%s", got)
	}
}

// Who has no passkeys is told where one is made, and a venue without a name that a browser knows
// says what is missing.
func TestPasskeysOfNobody(t *testing.T) {
	named := project(t, strings.Replace(letsIn, "agentauth:\n", "agentauth:\n  issuer: https://venue.example.org\n", 1))
	if got := command(t, cli.ExitOK, "passkeys", "list", "-c", named); !strings.Contains(got, "/agent/passkeys") {
		t.Errorf("the list says %q", got)
	}
	if got := command(t, cli.ExitOK, "passkeys", "reset", "-c", named); got != "forgot 0 passkeys\n" {
		t.Errorf("reset says %q", got)
	}
	command(t, cli.ExitMisuse, "passkeys", "reset", "-c", named, "--person", "alice")
	if got := command(t, cli.ExitFailed, "passkeys", "list", "-c", project(t, letsIn)); !strings.Contains(got, "write its URL") {
		t.Errorf("without an issuer the list says %q", got)
	}
}
