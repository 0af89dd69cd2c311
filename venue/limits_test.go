package venue_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"usher/caps"
	"usher/tools"
	"usher/venue"
	"usher/venue/config"
)

// Each limit of what comes of one first call is a setting, and the error that ends
// the call names it.
func TestLimitsOfACallTreeAreSettings(t *testing.T) {
	wait := tools.New("test:wait", "Wait until stopped.", func(struct{}) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} },
		func(ctx context.Context, _ tools.Call, _ struct{}) (bool, error) {
			<-ctx.Done()
			return false, context.Cause(ctx)
		})
	reads := flow(8, `{"op":"covia:read","input":{"path":"w/text"}}`)
	for setting, tt := range map[string]struct {
		limits  config.Limits
		program string
		op      string
		input   string
	}{
		"calls":      {config.Limits{Calls: 5}, reads, "o/program", `{}`},
		"values":     {config.Limits{Values: 4 << 10}, reads, "o/program", `{}`},
		"steps":      {config.Limits{Steps: 7}, reads, "o/program", `{}`},
		"patterns":   {config.Limits{Patterns: 64}, reads, "schema:validate", `{"schema":{"pattern":"^[a-z]{1,200}$"},"value":"a"}`},
		"runs_begun": {config.Limits{RunsBegun: 3}, flow(8, `{"op":"grid:invoke","input":{"operation":"covia:read","input":{"path":"w/text"}}}`), "o/program", `{}`},
		"call_depth": {config.Limits{CallDepth: 4}, flow(1, `{"op":"o/program"}`), "o/program", `{}`},
		"runs":       {config.Limits{Runs: 3}, flow(8, `{"op":"grid:invoke","input":{"operation":"test:wait"}}`), "o/program", `{}`},
		"run_time":   {config.Limits{RunTime: time.Millisecond}, `{"operation":{"adapter":"orchestrator","steps":[{"op":"grid:invoke","input":{"operation":"test:wait"}},{"op":"grid:jobResult","input":{"id":[0,"id"]}}]}}`, "o/program", `{}`},
	} {
		check := func(t *testing.T) {
			v := open(t, &venue.Options{Limits: tt.limits, Tools: []*tools.Operation{wait}})
			alice := user(t, v, "alice")
			invoke(t, alice, "covia:write", `{"path":"w/text","value":"`+strings.Repeat("x", 1<<10)+`"}`)
			invoke(t, alice, "covia:write", `{"path":"o/program","value":`+tt.program+`}`)
			_, err := alice.Invoke(t.Context(), tt.op, json.RawMessage(tt.input))
			if err == nil || !strings.Contains(err.Error(), "limits."+setting) {
				t.Errorf("with %+v the call ended with %v, want an error that names limits.%s", tt.limits, err, setting)
			}
			if strings.Count(err.Error(), "failed:") > 1 {
				t.Errorf("each level says the same: %v", err)
			}
		}
		t.Run(setting, func(t *testing.T) { synctest.Test(t, check) }) // closing gives what waits its time
	}
}
