package tools_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"usher/tools/agentauth"
)

// One server has one spelling as a resource, and what is asked of is checked under it.
func TestRequirements(t *testing.T) {
	for name, tt := range map[string]struct{ op, input, want string }{
		"a host":             {"agentauth:discover", `{"server":"bank.example"}`, "agentauth/read on agentauth/bank.example"},
		"an origin":          {"agentauth:discover", `{"server":"https://Bank.Example:443/"}`, "agentauth/read on agentauth/bank.example"},
		"plain HTTP":         {"agentauth:discover", `{"server":"http://localhost:8080"}`, "agentauth/read on agentauth/localhost:8080"},
		"another port":       {"agentauth:discover", `{"server":"https://bank.example:80"}`, "agentauth/read on agentauth/bank.example:80"},
		"a path":             {"agentauth:discover", `{"server":"https://bank.example/x"}`, "!server is no address"},
		"a user name":        {"agentauth:discover", `{"server":"https://good.example@evil.example"}`, "!server is no address"},
		"an encoded slash":   {"agentauth:discover", `{"server":"https://bank.example%2fx"}`, "!server is no address"},
		"a query":            {"agentauth:discover", `{"server":"https://bank.example?x"}`, "!server is no address"},
		"two dots":           {"agentauth:discover", `{"server":".."}`, "!server is no address"},
		"a number":           {"agentauth:discover", `{"server":"https://16909060"}`, "!server is no address"},
		"an address":         {"agentauth:discover", `{"server":"https://1.2.3.4"}`, "agentauth/read on agentauth/1.2.3.4"},
		"a scheme":           {"agentauth:discover", `{"server":"file://etc"}`, "!server is no address"},
		"nothing":            {"agentauth:discover", `{}`, "!server is no address"},
		"a long one":         {"agentauth:discover", `{"server":"` + strings.Repeat("x", 1<<20) + `"}`, "!server is no address"},
		"a long name":        {"agentauth:execute", `{"server":"b","capability":"` + strings.Repeat("X", 1<<20) + `"}`, "!" + strings.Repeat("X", 130) + `" is no name of a capability`},
		"one capability":     {"agentauth:execute", `{"server":"b","capability":"pay"}`, "invoke on agentauth/b/pay"},
		"a name that climbs": {"agentauth:execute", `{"server":"b","capability":"../c/pay"}`, "!no name of a capability"},
		"no name":            {"agentauth:execute", `{"server":"b"}`, "!no name of a capability"},
		"a registration":     {"agentauth:register", `{"server":"b","capabilities":[{"name":"x"},{"name":"y"}]}`, "agentauth/request on agentauth/b/x, agentauth/request on agentauth/b/y"},
		"for the defaults":   {"agentauth:register", `{"server":"b"}`, "agentauth/request on agentauth/b"},
		"an escalation":      {"agentauth:request", `{"server":"b","capabilities":[{"name":"x"}]}`, "agentauth/request on agentauth/b/x"},
		"for nothing":        {"agentauth:request", `{"server":"b","capabilities":[]}`, "!no capability is named"},
		"a batch":            {"agentauth:batch", `{"server":"b","requests":[{"capability":"x"},{"capability":"y"}]}`, "invoke on agentauth/b/x, invoke on agentauth/b/y"},
		"too many":           {"agentauth:batch", `{"server":"b","requests":[` + strings.Repeat(`{"capability":"x"},`, 50) + `{"capability":"y"}]}`, "!more than 50"},
		"a poll":             {"agentauth:poll", `{"server":"b","capability":"x","statusUrl":"https://b/j"}`, "invoke on agentauth/b/x"},
		"an end of nothing":  {"agentauth:revoke", `{"server":"b","capabilities":[]}`, "!capabilities is empty"},
		"an end of one":      {"agentauth:revoke", `{"server":"b","capabilities":["x"]}`, "agentauth/manage on agentauth/b"},
		"an end":             {"agentauth:revoke", `{"server":"b"}`, "agentauth/manage on agentauth/b"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, op := range agentauth.Operations(nil) {
				if op.Name() != tt.op {
					continue
				}
				needs, err := op.Requirements(json.RawMessage(tt.input))
				var list []string
				for _, need := range needs {
					list = append(list, fmt.Sprintf("%s on %s", need.Ability(), need.Resource()))
				}
				if err != nil {
					list = []string{err.Error()}
				}
				got := strings.Join(list, ", ")
				if refused := strings.HasPrefix(tt.want, "!"); refused && !strings.Contains(got, tt.want[1:]) || !refused && got != tt.want {
					t.Errorf("%s requires %s, want %s", tt.input, got, tt.want)
				}
			}
		})
	}
}
