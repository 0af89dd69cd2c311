package cli_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"usher/caps"
	"usher/tools"
	"usher/venue/cli"
)

// A program's own operations are known to every command, as the built-in ones are.
func TestProgramTools(t *testing.T) {
	type lookup struct {
		ID string `json:"id"`
	}
	own := tools.New("crm:lookup", "Look up a customer.",
		func(in lookup) []caps.Request { return []caps.Request{caps.Need("crud/read", "w/crm/"+in.ID)} },
		func(_ context.Context, _ tools.Call, in lookup) (string, error) { return "customer " + in.ID, nil })
	file := project(t, "models: {default: {provider: offline}}\nagents: [{id: clerk, tools: [crm:lookup], caps: [{with: w/crm, can: crud/read}]}]\n")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"lint", "-c", file}, "nothing to complain about"},
		{[]string{"invoke", "-c", file, "crm:lookup", `{"id":"7"}`}, "customer 7"},
		{[]string{"run", "-c", file, "clerk", `call crm_lookup {"id":"7"}`}, "customer 7"},
		{[]string{"caps", "check", "--caps", `[{"with":"w/crm/7","can":"crud/read"}]`, "--op", "crm:lookup", "--input", `{"id":"7"}`}, "allow"},
	} {
		var out, notes bytes.Buffer
		p := &cli.Program{Tools: []*tools.Operation{own}, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &notes}
		if status := p.Run(t.Context(), c.args); status != cli.ExitOK || !strings.Contains(out.String(), c.want) {
			t.Errorf("usher %q: status %d, %s%s, want %q", c.args, status, &out, &notes, c.want)
		}
	}
}
