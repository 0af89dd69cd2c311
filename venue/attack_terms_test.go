package venue_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"usher/caps"
	"usher/runtime"
	"usher/venue"
	"usher/venue/venuetest"
)

// An agent tries to get around the terms of its capabilities: by other spellings of
// its input, by what lies above, by copies, pins, orchestrations, jobs, children and
// itself. Nothing is read that is denied, and nothing written without a person.
func TestAttackTerms(t *testing.T) {
	p := new(puppet)
	v := open(t, with(p))
	alice := user(t, v, "alice")
	invoke(t, alice, "covia:write", `{"path":"w/box","value":{"open":1,"secret":"PIN-4711"}}`)
	invoke(t, alice, "covia:write", `{"path":"w/limit","value":"old"}`)
	invoke(t, alice, "covia:write", `{"path":"w/careful","value":"old"}`)
	invoke(t, alice, "covia:write", `{"path":"o/store","value":{"operation":{"adapter":"covia:write"}}}`)
	invoke(t, alice, "covia:write", `{"path":"o/both","value":{"type":"orchestration","operation":{"adapter":"orchestrator","steps":[{"op":"covia:write","input":{"path":["input","path"],"value":["input","value"]}}]}}}`)
	carol := create(t, alice, spec("carol", "", `[
		{"with":"w/","can":"crud/read"},
		{"with":"w/mine","can":"crud"},
		{"with":"w/limit","can":"crud/write","when":{"/value/amount":{"max":100},"/value/to":{"not_in":["mallory"]}}},
		{"with":"w/careful","can":"crud","ask":true},
		{"with":"w/past","can":"crud","until":"2001-01-01T00:00:00Z"},
		{"with":"o/","can":"*"},{"with":"g/","can":"agent"},{"with":"","can":"invoke"},
		{"with":"w/box/secret","can":"*","deny":true}]`))
	did := alice.DID().String()
	for _, c := range [][2]string{
		{"covia_read", `{"path":"w/box/secret"}`},
		{"covia_read", `{"path":["w","box","secret"]}`},
		{"covia_read", `{"path":"` + did + `/w/box/secret/"}`},
		{"covia_read", `{"path":"w/box"}`},
		{"covia_read", `{"path":"w"}`},
		{"covia_list", `{"path":"w/box"}`},
		{"covia_list", `{}`},
		{"covia_slice", `{"path":"w/box"}`},
		{"covia_inspect", `{"paths":["w/mine","w/box"]}`},
		{"covia_inspect", `{"paths":"w"}`},
		{"covia_copy", `{"from":"w/box/secret","to":"w/mine"}`},
		{"covia_copy", `{"from":"w/box","to":"w/mine"}`},
		{"grid_run", `{"operation":"covia:read","input":{"path":"w/box"}}`},
		{"grid_run", `{"operation":"covia:copy","input":{"from":"w/box","to":"w/mine"}}`},
		{"agent_create", `{"agentId":"kid","config":{"tools":["covia:*"],"caps":[{"with":"w/box/secret","can":"crud/read"}]}}`},

		{"covia_write", `{"path":"w/limit","value":"new"}`},
		{"covia_write", `{"path":"w/limit","value":{"amount":101,"to":"bob","was":"new"}}`},
		{"covia_write", `{"path":"w/limit","value":{"amount":100.000000000000000001,"to":"bob","was":"new"}}`},
		{"covia_write", `{"path":"w/limit","value":{"amount":1e999999999,"to":"bob","was":"new"}}`},
		{"covia_write", `{"path":"w/limit","value":{"amount":"5","to":"bob","was":"new"}}`},
		{"covia_write", `{"path":"w/limit","value":{"amount":[5],"to":"bob","was":"new"}}`},
		{"covia_write", `{"path":"w/limit","value":{"Amount":5,"to":"bob","was":"new"}}`},
		{"covia_write", `{"path":"w/limit","value":{"amount":5,"AMOUNT":500,"to":"bob","was":"new"}}`},
		{"covia_write", `{"path":"w/limit","value":{"amount":5,"amount":500,"to":"bob","was":"new"}}`},
		{"covia_write", `{"path":"w/limit","value":{"amount":5,"am\u006funt":500,"to":"bob","was":"new"}}`},
		{"covia_write", `{"path":"w/limit","value":{"amount":5,"to":"mallory","was":"new"}}`},
		{"covia_write", `{"path":"w/limit","value":{"amount":5,"to":["mallory"],"was":"new"}}`},
		{"covia_write", `{"path":"w/limit","value":{"amount":5,"to":null,"was":"new"}}`},
		{"covia_write", `{"path":"w/limit","value":{"amount":5,"was":"new"}}`},
		{"covia_write", `{"path":"w/limit","value":"{\"amount\":5,\"to\":\"bob\",\"was\":\"new\"}"}`},
		{"covia_write", `{"path":"w/limit/amount","value":{"amount":5000,"to":"bob","was":"new"}}`},
		{"covia_delete", `{"path":"w/limit"}`},
		{"grid_run", `{"operation":"covia:write","input":{"path":"w/limit","value":{"amount":500,"to":"bob","was":"new"}},"value":{"amount":5,"to":"bob"}}`},
		{"grid_run", `{"operation":"o/store","input":{"path":"w/limit","value":{"amount":500,"to":"bob","was":"new"}}}`},
		{"grid_run", `{"operation":"o/both","input":{"path":"w/limit","value":{"amount":500,"to":"bob","was":"new"}}}`},

		{"covia_write", `{"path":"w/careful","value":"new"}`},
		{"covia_write", `{"path":"/w/careful/","value":"new"}`},
		{"covia_delete", `{"path":"w/careful"}`},
		{"covia_copy", `{"from":"w/mine","to":"w/careful"}`},
		{"grid_run", `{"operation":"covia:write","input":{"path":"w/careful","value":"new"}}`},
		{"grid_invoke", `{"operation":"covia:write","input":{"path":"w/careful","value":"new"}}`},
		{"grid_run", `{"operation":"o/both","input":{"path":"w/careful","value":"new"}}`},
		{"covia_write", `{"path":"w/past","value":"new"}`},
		{"agent_create", `{"agentId":"kid","config":{"caps":[{"with":"w/careful","can":"crud"}]}}`},
		{"agent_create", `{"agentId":"kid","config":{"caps":[{"with":"w/limit","can":"crud/write","when":{"/value/amount":{"max":100}}}]}}`},
		{"agent_create", `{"agentId":"kid","config":{"caps":[{"with":"w/limit","can":"crud/write","when":{"/value/amount":{"max":1000},"/value/to":"bob"}}]}}`},
		{"agent_create", `{"agentId":"kid","config":{"caps":[{"with":"w/past","can":"crud"}]}}`},
		{"agent_update", `{"agentId":"carol","config":{"caps":[{"with":"w/","can":"crud"}]}}`},
		{"agent_update", `{"agentId":"carol","config":{"caps":[{"with":"w/careful","can":"crud","ask":false}]}}`},
		{"agent_fork", `{"sourceId":"carol","agentId":"kid","config":{"caps":[{"with":"w/careful","can":"crud"}]}}`},
	} {
		done := attempt(t, carol, p, c[0], c[1])
		t.Logf("%-13s %-100s %s %.160s", c[0], c[1], done.Outcome, done.Result)
		if strings.Contains(done.Result, "4711") || done.Outcome == runtime.ToolOK && c[0] != "grid_invoke" {
			t.Errorf("%s %s: %s %s", c[0], c[1], done.Outcome, done.Result)
		}
	}
	for path, want := range map[string]string{
		"w/limit": `{"exists":true,"value":"old"}`, "w/careful": `{"exists":true,"value":"old"}`, "w/past": `{"exists":false}`, "w/mine": `{"exists":false}`, "w/box/secret": `{"exists":true,"value":"PIN-4711"}`,
	} {
		if got := read(t, alice, path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	if _, err := alice.Agent(t.Context(), "kid"); err == nil {
		t.Error("a child was made that is wider than its maker")
	}
	for input, ok := range map[string]bool{
		`{"path":"w/limit","value":{"amount":1e2,"to":"bob"}}`: true, `{"path":"w/mine","value":1}`: true, `{"path":"w/careful","value":"new"}`: false,
	} {
		if done := attempt(t, carol, p, "covia_write", input); (done.Outcome == runtime.ToolOK) != ok || !ok && done.Outcome != venuetest.Waiting {
			t.Errorf("covia_write %s: %s %s", input, done.Outcome, done.Result)
		}
	}
}

// An agent cannot shed what is denied to it: by writing its own capabilities, by being
// made again, or by a child that does so for it.
func TestAttackShedADenial(t *testing.T) {
	const caps = `[{"with":"w/","can":"crud"},{"with":"g/","can":"agent"},{"with":"w/vault","can":"*","deny":true}]`
	for _, trick := range [][][2]string{
		{{"agent_update", `{"agentId":"carol","config":{"caps":[{"with":"w/","can":"crud"},{"with":"g/","can":"agent"}]}}`}},
		{{"agent_update", `{"agentId":"carol","config":{"caps":[{"with":"w/","can":"crud"}]}}`}},
		{{"agent_create", `{"agentId":"carol","overwrite":true,"config":{"tools":["covia:*"],"caps":[{"with":"w/","can":"crud"}]}}`}},
		{{"agent_create", `{"agentId":"carol","overwrite":true,"config":{"tools":["covia:*"]}}`}},
		{{"agent_fork", `{"sourceId":"carol","agentId":"kid"}`}, {"agent_fork", `{"sourceId":"kid","agentId":"carol","overwrite":true,"config":{"caps":[{"with":"w/","can":"crud"}]}}`}},
		{
			{"agent_create", `{"agentId":"kid","config":{"tools":["agent:*"],"authority":"own","caps":[{"with":"w/","can":"crud"},{"with":"g/","can":"agent"}]}}`},
			{"agent_request", `{"agentId":"kid","input":"free me"}`},
			{"agent_update", `{"agentId":"carol","config":{"caps":[{"with":"w/","can":"crud"}]}}`},
		},
	} {
		p := new(puppet)
		v := open(t, with(p))
		alice := user(t, v, "alice")
		invoke(t, alice, "covia:write", `{"path":"w/vault","value":"PIN-4711"}`)
		carol := create(t, alice, spec("carol", "", caps))
		for i, c := range trick {
			p.Ask(c[0], c[1])
			if c[0] != "agent_request" && (i == len(trick)-1 || trick[i+1][0] != "agent_request") {
				chat(t, carol, "go")
			}
		}
		carol = agentOf(t, alice, "carol")
		if done := attempt(t, carol, p, "covia_write", `{"path":"w/other","value":1}`); done.Outcome != runtime.ToolOK {
			t.Errorf("%v: the trick itself failed: %s", trick, done.Result)
		}
		for _, path := range []string{"w/vault", "w"} {
			if done := attempt(t, carol, p, "covia_read", `{"path":"`+path+`"}`); done.Outcome != runtime.ToolDenied || strings.Contains(done.Result, "4711") {
				t.Errorf("%v: %s is %s", trick, path, done.Result)
			}
		}
		if kid, err := alice.Agent(t.Context(), "kid"); err == nil {
			if done := attempt(t, kid, p, "covia_read", `{"path":"w/vault"}`); done.Outcome == runtime.ToolOK {
				t.Errorf("%v: its child reads %s", trick, done.Result)
			}
		}
	}
}

// A child has the terms of whoever made it, those it was not told of too, and gains
// nothing when it is made again or its maker changes.
func TestChildrenHaveTheTermsOfTheirMakers(t *testing.T) {
	p := new(puppet)
	v := open(t, with(p))
	alice := user(t, v, "alice")
	carol := create(t, alice, spec("carol", "", `[{"with":"w/","can":"crud","when":{"/value":{"max":100}}},{"with":"g/","can":"agent"},{"with":"w/never","can":"crud","deny":true}]`))
	for _, made := range []string{
		`{"agentId":"kid","config":{"tools":["covia:*"]}}`,
		`{"agentId":"kid","overwrite":true,"config":{"tools":["covia:*"],"caps":[{"with":"w/","can":"crud","when":{"/value":{"max":10}},"until":"2999-01-01T00:00:00Z"}]}}`,
	} {
		if done := attempt(t, carol, p, "agent_create", made); done.Outcome != runtime.ToolOK {
			t.Fatalf("%s: %s", made, done.Result)
		}
		kid := agentOf(t, alice, "kid")
		for input, ok := range map[string]bool{
			`{"path":"w/a","value":5}`: true, `{"path":"w/a","value":101}`: false, `{"path":"w/never","value":5}`: false, `{"path":"w/a","value":"x"}`: false,
		} {
			if done := attempt(t, kid, p, "covia_write", input); (done.Outcome == runtime.ToolOK) != ok {
				t.Errorf("%s, covia_write %s: %s %s", made, input, done.Outcome, done.Result)
			}
		}
		info, err := kid.Info(t.Context())
		if err != nil || !strings.Contains(info.Caps.String(), "never: crud on w/never") || !strings.Contains(info.Caps.String(), "when /value is at most") {
			t.Errorf("%s: it holds %v, %v", made, info.Caps, err)
		}
	}
	invoke(t, alice, "agent:update", `{"agentId":"carol","config":{"caps":[{"with":"w/","can":"crud","ask":true},{"with":"g/","can":"agent"}]}}`)
	if done := attempt(t, agentOf(t, alice, "kid"), p, "covia_write", `{"path":"w/a","value":5}`); done.Outcome != venuetest.Waiting {
		t.Errorf("its maker has to ask now, and the child does not: %s %s", done.Outcome, done.Result)
	}
}

// A capability ends by the clock of the venue, between two turns and without a change
// of any record: it is neither told nor offered, nor does it allow.
func TestACapabilityEnds(t *testing.T) {
	clock := newHands(time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC))
	p := new(puppet)
	v := open(t, &venue.Options{Models: map[string]runtime.Model{"default": p}, Now: clock.Now})
	alice := user(t, v, "alice")
	carol := create(t, alice, spec("carol", "", `[{"with":"w/","can":"crud/write","until":"2026-11-22T12:30:00Z"}]`))
	for _, step := range []struct {
		after time.Duration
		ok    bool
	}{{0, true}, {30 * time.Minute, true}, {time.Second, false}} {
		clock.Add(step.after)
		done := attempt(t, carol, p, "covia_write", `{"path":"w/a","value":1}`)
		brief, err := carol.Brief(t.Context())
		if err != nil || (done.Outcome == runtime.ToolOK) != step.ok || (len(brief.Tools) > 0) != step.ok || strings.Contains(brief.System, "crud/write on w/") != step.ok {
			t.Errorf("at %v: %s %s; %d tools, and %s, %v", clock.Now(), done.Outcome, done.Result, len(brief.Tools), brief.System, err)
		}
	}
	if info, err := carol.Info(t.Context()); err != nil || !info.Caps.Check(caps.Need("crud/write", "w/a")).Open() && !info.Caps.IsEmpty() {
		t.Errorf("it holds %v, %v", info.Caps, err)
	}
}

// A token that an agent signs gives nothing that is denied to the agent or that it has
// to ask for; what it has within limits goes with them, and is checked at each call of
// whoever received it.
func TestDelegationOnTerms(t *testing.T) {
	p := new(puppet)
	v := open(t, with(p))
	alice, bob := user(t, v, "alice"), user(t, v, "bob")
	invoke(t, alice, "covia:write", `{"path":"w/vault","value":"PIN-4711"}`)
	s := spec("carol", "", `[
		{"with":"w/","can":"crud"},{"with":"w/vault","can":"crud","deny":true},
		{"with":"x/ask","can":"crud","ask":true},
		{"with":"o/","can":"crud","when":{"/value/amount":{"max":100}}},{"with":"","can":"ucan"}]`)
	s.Tools = append(s.Tools, "ucan:*")
	carol := create(t, alice, s)
	for _, tc := range []struct{ capability, format, says string }{
		{`{"with":"w/","can":"crud"}`, "native", "denied to you"},
		{`{"with":"w/vault","can":"crud/read"}`, "native", "denied expressly"},
		{`{"with":"x/ask","can":"crud"}`, "native", "at most what it holds itself, on its terms: you hold crud on x/ask after asking a person"},
		{`{"with":"x/ask","can":"crud","ask":true}`, "native", "cannot carry"},
		{`{"with":"o/","can":"crud/write"}`, "native", "you hold crud on o/ when /value/amount is at most 100"},
		{`{"with":"o/","can":"crud/write","when":{"/value/amount":{"max":50}}}`, "jwt", "a JWT has with and can alone"},
		{`{"with":"o/","can":"crud/write","when":{"/value/amount":{"max":50}}}`, "native", ""},
		{`{"with":"w/open","can":"crud"}`, "jwt", ""},
	} {
		done := attempt(t, carol, p, "ucan_delegate", `{"audience":"`+bob.DID().String()+`","format":"`+tc.format+`","capabilities":[`+tc.capability+`]}`)
		if (done.Outcome == runtime.ToolOK) != (tc.says == "") || !strings.Contains(done.Result, tc.says) {
			t.Errorf("%s as %s: %s %s, want %q", tc.capability, tc.format, done.Outcome, done.Result, tc.says)
		}
	}
	there := alice.DID().String()
	for input, ok := range map[string]bool{
		`{"path":"` + there + `/o/x","value":{"amount":50}}`:    true,
		`{"path":"` + there + `/o/x","value":{"amount":51}}`:    false,
		`{"path":"` + there + `/o/x","value":{"Amount":50}}`:    false,
		`{"path":"` + there + `/o/x","value":1}`:                false,
		`{"path":"` + there + `/w/open/x","value":1}`:           true,
		`{"path":"` + there + `/w/vault","value":{"amount":1}}`: false,
	} {
		if _, err := bob.Invoke(t.Context(), "covia:write", json.RawMessage(input)); (err == nil) != ok {
			t.Errorf("bob, covia:write %s: %v", input, err)
		}
	}
	// What the agent holds now counts.
	invoke(t, alice, "agent:update", `{"agentId":"carol","config":{"caps":[{"with":"o/","can":"crud","when":{"/value/amount":{"max":10}}},{"with":"w/","can":"crud","ask":true}]}}`)
	for input, ok := range map[string]bool{
		`{"path":"` + there + `/o/x","value":{"amount":10}}`: true,
		`{"path":"` + there + `/o/x","value":{"amount":11}}`: false,
		`{"path":"` + there + `/w/open/x","value":1}`:        false,
	} {
		if _, err := bob.Invoke(t.Context(), "covia:write", json.RawMessage(input)); (err == nil) != ok {
			t.Errorf("after the change bob, covia:write %s: %v", input, err)
		}
	}
}
