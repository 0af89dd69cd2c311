package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"usher/tools/agents"
	"usher/tools/form"
	"usher/tools/scheduler"
)

// schedule is a schedule as it is written.
type schedule struct {
	_      struct{}        `noun:"a schedule" required:"id" example:"{'id': 'nightly', 'op': 'o/report', 'cron': '0 3 * * *', 'zone': 'Europe/Berlin'}"`
	ID     string          `json:"id" example:"nightly" pattern:"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$" jsonschema:"Name of the schedule, kept at schedules/<id>."`
	Agent  string          `json:"agent,omitempty" example:"Carol" jsonschema:"The agent that makes the call. Default: the user in person, who may do everything."`
	Op     string          `json:"op,omitempty" example:"o/report" jsonschema:"The operation that is run."`
	Input  json.RawMessage `json:"input,omitempty" kind:"object" want:"the operation's fields" example:"{'day': 'today'}" jsonschema:"What op is given."`
	Say    *say            `json:"say,omitempty" example:"{'agent': 'Carol', 'text': 'Approve what has come in.'}" jsonschema:"A task for an agent, instead of op: agent:request."`
	Cron   string          `json:"cron,omitempty" example:"0 9 * * 1-5" jsonschema:"When it fires, again and again: minute, hour, day of the month, month and day of the week."`
	At     string          `json:"at,omitempty" example:"2026-12-24T18:00:00+01:00" jsonschema:"When it fires, once."`
	Zone   string          `json:"zone,omitempty" example:"Europe/Berlin" jsonschema:"IANA time zone of cron. Default: UTC."`
	Missed string          `json:"missed,omitempty" enum:"fire|skip" want:"fire (once for all of them) or skip" example:"skip" jsonschema:"What becomes of times of cron that passed while the venue was down. Default: fire."`
	Note   string          `json:"note,omitempty" example:"The report of the day." jsonschema:"What it is for, as lists tell."`
}

// say is a task for an agent.
type say struct {
	_     struct{} `noun:"a task" required:"agent,text" example:"{'agent': 'Carol', 'text': 'Approve what has come in.'}"`
	Agent string   `json:"agent" example:"Carol" jsonschema:"The agent that gets it."`
	Text  string   `json:"text" example:"Approve what has come in." jsonschema:"What it should do."`
}

// Check says what is wrong with the schedule itself.
func (s *schedule) Check() error {
	switch {
	case (s.Op == "") == (s.Say == nil):
		return errors.New("a schedule has either op or say: write one of them")
	case s.Input != nil && s.Say != nil:
		return form.In("input", errors.New("input is for op: remove it"))
	case (s.Cron == "") == (s.At == ""):
		return errors.New("a schedule has either cron or at: write one of them")
	}
	if err := scheduler.CheckName(s.ID); s.ID != "" && err != nil {
		return form.In("id", err)
	}
	for _, named := range []struct{ key, id string }{{"agent", s.Agent}, {"say", s.agentToTell()}} {
		if err := agents.CheckID(named.id); named.id != "" && err != nil {
			return form.In(named.key, err)
		}
	}
	all := s.schedule()
	return all.Check()
}

// Refine adds the rules of Check that a schema can say.
func (*schedule) Refine(s *jsonschema.Schema) {
	s.AllOf = append(s.AllOf, &jsonschema.Schema{OneOf: form.OneOf("op", "say")}, &jsonschema.Schema{OneOf: form.OneOf("cron", "at")})
	s.DependentRequired = map[string][]string{"input": {"op"}, "zone": {"cron"}, "missed": {"cron"}}
}

func (s *schedule) agentToTell() string {
	if s.Say == nil {
		return ""
	}
	return s.Say.Agent
}

// schedule is what scheduler:schedule is asked for.
func (s *schedule) schedule() scheduler.Schedule {
	out := scheduler.Schedule{
		Operation: s.Op, Input: s.Input, Name: s.ID, Cron: s.Cron, Zone: s.Zone, Missed: s.Missed, Note: s.Note, Agent: s.Agent,
	}
	if s.Say != nil {
		out.Operation = "agent:request"
		out.Input, _ = json.Marshal(map[string]string{"agentId": s.Say.Agent, "input": s.Say.Text}) // of text
	}
	if s.At != "" {
		out.At, _ = json.Marshal(s.At) // of text
	}
	return out
}

func (r *reader) schedule(e entry, s *schedule) {
	if s.ID != "" && r.first("schedule "+s.ID, e) {
		r.cfg.Schedules = append(r.cfg.Schedules, s.schedule())
	}
}

// schedules finds schedules that could do nothing.
func (l *linter) schedules() {
	for _, s := range l.config.Schedules {
		if said, advice, path := l.useless(s); said != "" {
			l.report(LevelError, "schedule "+s.Name, said, advice, path...)
		}
	}
}

// useless says why a schedule could do nothing, what helps, and where that stands.
func (l *linter) useless(s scheduler.Schedule) (said, advice string, path []string) {
	if s.Agent != "" && l.agents[s.Agent] == nil {
		return fmt.Sprintf("its agent %q is no agent of the configuration", s.Agent), l.advice(s.Agent), []string{"agent"}
	}
	what := []string{"op"}
	if l.config.entries["schedule "+s.Name].node.Get("say") != nil {
		what = []string{"say", "agent"}
		var task struct{ AgentID string }
		_ = json.Unmarshal(s.Input, &task) // it was made here
		if l.agents[task.AgentID] == nil {
			return fmt.Sprintf("it speaks to %q, which is no agent of the configuration", task.AgentID), l.advice(task.AgentID), what
		}
	}
	t, err := l.lookUp(s.Operation)
	switch {
	case err != nil:
		return fmt.Sprintf("it runs %q, which is no operation", s.Operation), err.Error(), what
	case strings.HasSuffix(s.Operation, ":*"):
		return fmt.Sprintf("it runs %q, which is several operations", s.Operation), "name one operation", what
	}
	needs, err := t.needs(s.Input)
	if err != nil {
		return "it could never run: " + err.Error(), "", []string{"input"}
	}
	for _, need := range needs {
		if s.Agent != "" && !l.capsOf(s.Agent).Check(need).Possible() {
			return "its agent " + s.Agent + " may not do what it runs: that requires " + need.String(), "add it to the caps of " + s.Agent, []string{"agent"}
		}
	}
	return "", "", nil
}
