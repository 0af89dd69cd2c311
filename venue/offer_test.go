package venue_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"usher/caps"
	"usher/venue"
)

// inputs of the operations over a small universe of resources: enough that
// every capability of the same universe that could allow anything does.
func universe() map[string][]string {
	paths := []string{
		"w", "w/a", "w/a/b", "w/ab", "w/new/x", "o", "o/a", "o/a/b", "o/new", "g", "g/a", "g/a/b", "g/ab", "g/new", "j", "j/a", "j/a/b", "v", "v/a", "s/a",
		"did:key:zBob", "did:key:zBob/w", "did:key:zBob/w/a", "did:key:zBob/w/new/x", "did:key:zBob/g/a", "did:key:zBob/s/a",
	}
	ids := []string{"a", "ab", "new"}
	in := map[string][]string{}
	add := func(op, format string, args ...any) { in[op] = append(in[op], fmt.Sprintf(format, args...)) }
	for _, p := range paths {
		for _, op := range []string{"read", "write", "append", "delete", "slice", "list"} {
			add("v/ops/covia/"+op, `{"path":%q,"value":1}`, p)
		}
		add("v/ops/covia/inspect", `{"paths":[%q]}`, p)
		add("v/ops/agent/adopt", `{"path":%q}`, p)
		for _, q := range paths {
			add("v/ops/covia/copy", `{"from":%q,"to":%q}`, p, q)
		}
	}
	add("v/ops/covia/list", `{}`)
	for _, id := range ids {
		for _, op := range []string{"create", "request", "message", "info", "update", "delete", "suspend", "resume", "adopt", "chat", "trigger", "context"} {
			add("v/ops/agent/"+op, `{"agentId":%q,"message":"x","input":{}}`, id)
		}
		for _, other := range ids {
			add("v/ops/agent/fork", `{"sourceId":%q,"agentId":%q}`, other, id)
		}
		add("v/ops/agent/cancel-task", `{"agentId":%q,"taskId":"t"}`, id)
		for _, op := range []string{"status", "result", "cancel", "pause", "resume"} {
			add("v/ops/grid/job-"+op, `{"id":%q}`, id)
		}
	}
	for _, name := range []string{"", "a", "a/b", "ab", "new"} {
		add("v/ops/scheduler/schedule", `{"operation":"x","after":"1h","name":%q}`, name)
		for _, op := range []string{"list", "cancel", "trigger"} {
			add("v/ops/scheduler/"+op, `{"handle":%q}`, name)
		}
	}
	for _, op := range []string{"inspect", "accept", "login", "login-end", "logout", "answer"} {
		for _, server := range ids {
			add("v/ops/mcp/"+op, `{"server":%q}`, server)
		}
	}
	add("v/ops/mcp/list", `{}`)
	add("v/ops/mcp/questions", `{}`)
	for _, agent := range []string{"https://h", "https://h/a", "https://h/a/b", "http://h/a"} {
		for _, op := range []string{"card", "get", "cancel", "attenuate", "revoke", "use"} {
			add("v/ops/a2a/"+op, `{"agent":%q,"taskId":"t","capability":"c","skill":"s"}`, agent)
		}
		add("v/ops/a2a/send", `{"agent":%q,"message":"x"}`, agent)
		add("v/ops/a2a/request", `{"agent":%q,"grants":["x"]}`, agent)
	}
	for _, server := range []string{"h", "h2"} {
		for _, op := range []string{"discover", "list", "status", "register", "reactivate", "rotate", "revoke"} {
			add("v/ops/agentauth/"+op, `{"server":%q}`, server)
		}
		for _, name := range []string{"a", "b"} {
			for _, op := range []string{"describe", "execute", "poll"} {
				add("v/ops/agentauth/"+op, `{"server":%q,"capability":%q,"statusUrl":"https://h/x"}`, server, name)
			}
			for _, op := range []string{"register", "request"} {
				add("v/ops/agentauth/"+op, `{"server":%q,"capabilities":[{"name":%q}]}`, server, name)
			}
			add("v/ops/agentauth/batch", `{"server":%q,"requests":[{"capability":%q}]}`, server, name)
		}
	}
	add("v/ops/agent/list", `{}`)
	add("v/ops/agent/complete-task", `{"result":1}`)
	add("v/ops/agent/fail-task", `{"reason":"x"}`)
	add("v/ops/grid/job-list", `{}`)
	add("v/ops/grid/run", `{"operation":"x"}`)
	add("v/ops/grid/invoke", `{"operation":"x"}`)
	for _, id := range ids {
		add("v/ops/grid/job-outcome", `{"id":%q,"outcome":"failed"}`, id)
	}
	for _, op := range []string{"issue", "delegate", "import", "verify", "list", "whoami", "revocations"} {
		add("v/ops/ucan/"+op, `{}`)
	}
	add("v/ops/ucan/export", `{"cid":"bafyreih5ryzsq6kh5k5fc2qimk2k4v2wcoffi3sctcqd3kpd6ubmh3rrdu"}`)
	add("v/ops/ucan/revoke", `{"cid":"bafyreih5ryzsq6kh5k5fc2qimk2k4v2wcoffi3sctcqd3kpd6ubmh3rrdu"}`)
	for _, name := range ids {
		add("v/ops/secret/set", `{"name":%q,"value":"x"}`, name)
		add("v/ops/secret/extract", `{"name":%q}`, name)
		add("v/ops/secret/delete", `{"name":%q}`, name)
	}
	add("v/ops/secret/list", `{}`)
	add("v/ops/approval/list", `{}`)
	add("v/ops/approval/list", `{"owner":"did:key:zBob"}`)
	add("v/ops/token/list", `{}`)
	add("v/ops/audit/list", `{}`)
	add("v/ops/audit/prove", `{"row":1}`)
	add("v/ops/audit/checkpoint", `{}`)
	for _, name := range ids {
		add("v/ops/token/create", `{"name":%q}`, name)
		add("v/ops/token/revoke", `{"name":%q}`, name)
		for _, op := range []string{"show", "approve", "deny"} {
			add("v/ops/approval/"+op, `{"id":%q}`, name)
			add("v/ops/approval/"+op, `{"id":%q,"owner":"did:key:zBob"}`, name)
		}
	}
	add("v/ops/capability/request", `{"grants":["a"],"statedPurpose":"x"}`)
	add("v/ops/capability/attenuate", `{"capabilityId":"a"}`)
	add("v/ops/capability/revoke", `{"revocationId":"a"}`)
	add("v/ops/capability/list", `{}`)
	add("v/ops/capability/use", `{"skill":"a","arguments":{"resourceHandle":"rh_aaaaaaaaaaaaaaaaaaaaaaaaaa"}}`)
	add("v/ops/capability/ambient", `{"skill":"a"}`)
	for _, id := range ids {
		add("v/ops/capability/ambient", `{"agent":%q}`, id)
	}
	add("v/ops/json/merge", `{"values":[{}]}`)
	add("v/ops/json/cond", `{"cases":[]}`)
	add("v/ops/json/assoc", `{"path":"a"}`)
	add("v/ops/json/select", `{"key":"k","cases":{}}`)
	for _, op := range []string{"check", "coerce", "infer", "validate", "validate-all"} {
		add("v/ops/schema/"+op, `{"schema":{},"value":1}`)
	}
	return in
}

// A tool is offered if and only if some call of it would be allowed or asked about, for
// every built-in operation.
func TestOfferedExactlyWhenSomethingWouldBeAllowed(t *testing.T) {
	catalogue, err := venue.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	withs := []string{"", "w/", "w/a", "w/a/b", "w/ab", "o/", "o/a", "g/", "g/a", "g/a/b", "g/ab", "j", "j/a", "j/a/b", "v", "s/", "s/a", "schedules", "schedules/a", "schedules/a/b", "approvals", "approvals/a", "tokens", "tokens/a", "audit", "audit/a", "mcp", "mcp/a", "agentauth", "agentauth/h", "agentauth/h/a", "agentauth/h/a/x", "https://", "https://h", "https://h/a/b", "http://h/a", "handles", "handles/rh_aaaaaaaaaaaaaaaaaaaaaaaaaa", "x", "did:key:zBob", "did:key:zBob/w", "did:key:zBob/w/a", "did:key:zBob/g", "did:key:zBob/s"}
	cans := []string{"*", "crud", "crud/read", "crud/write", "crud/delete", "agent", "agent/create", "agent/fork", "agent/read", "agent/manage", "agent/message", "agent/task", "job", "job/manage", "invoke", "secret", "secret/store", "secret/decrypt", "secret/list", "schedule", "schedule/create", "schedule/read", "approval/read", "approval/answer", "token", "token/create", "token/read", "audit/read", "mcp/login", "mcp/read", "agentauth", "agentauth/read", "agentauth/request", "agentauth/manage", "a2a", "a2a/read", "a2a/send", "capability", "capability/request", "capability/use"}
	needsOf := map[string][][]caps.Request{} // what each input of an operation requires
	for _, op := range catalogue.All() {
		for _, raw := range universe()[op.Path()] {
			if needs, err := op.Requirements(json.RawMessage(raw)); err == nil {
				needsOf[op.Path()] = append(needsOf[op.Path()], needs)
			}
		}
		if len(needsOf[op.Path()]) == 0 {
			t.Fatalf("the test has no input for %s: add one", op.Path())
		}
	}
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	random := rand.New(rand.NewPCG(1, 2))
	offered, refused := 0, 0
	for range rounds(3000, 600) {
		var list []caps.Capability
		for range random.IntN(5) {
			c := caps.MustCapability(withs[random.IntN(len(withs))], cans[random.IntN(len(cans))])
			var terms caps.Terms
			switch random.IntN(8) {
			case 0:
				terms.Ask = true
			case 1, 2:
				terms.Deny = true
			}
			if n := random.IntN(6); n < 2 {
				terms.Until = now.Add(time.Duration(2*n-1) * time.Hour)
			}
			if c, err = c.On(terms); err != nil {
				t.Fatal(err)
			}
			list = append(list, c)
		}
		set := caps.Of(list...)
		left := set.At(now)
		for _, op := range catalogue.All() {
			allowed := slices.ContainsFunc(needsOf[op.Path()], func(needs []caps.Request) bool {
				return !slices.ContainsFunc(needs, func(need caps.Request) bool {
					d := set.Check(need).Settle(caps.Facts{Now: now})
					return !d.IsAllowed() && !d.IsAsk()
				})
			})
			if got := op.CouldAllow(left); got != allowed {
				t.Fatalf("%s with %v: offered %v, but some call is allowed: %v", op.Path(), set, got, allowed)
			}
			if allowed {
				offered++
			} else {
				refused++
			}
		}
	}
	if offered == 0 || refused == 0 {
		t.Errorf("%d offered and %d not: the test sees one side only", offered, refused)
	}
}

// The disclosure, the offer and the check come from one set: what a denial
// lists is what the prompt disclosed.
func TestDenialListsWhatWasDisclosed(t *testing.T) {
	set := caps.Of(caps.MustCapability("w/decisions/", "crud"), caps.MustCapability("w/", "crud/read"))
	denial := set.Check(caps.Need("crud/write", "w/audits/INV-123")).Denial("v/ops/covia/write")
	for c := range set.All() {
		if !strings.Contains(denial.Error(), c.String()) {
			t.Errorf("the denial lacks %v: %v", c, denial)
		}
	}
	const example = "Capability denied: v/ops/covia/write requires crud/write on w/audits/INV-123. " +
		"Your capabilities are: crud on w/decisions/, crud/read on w/. " +
		"Retrying the same call will not succeed — the denial is structural."
	if denial.Error() != example {
		t.Errorf("the specification's example comes out as\n%s\nwant\n%s", denial.Error(), example)
	}
}
