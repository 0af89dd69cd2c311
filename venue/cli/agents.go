package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/sync/errgroup"

	"usher/tools/agents"
	"usher/tools/form"
	"usher/tools/spend"
	"usher/venue"
)

type agentsCmd struct {
	List    agentsListCmd   `cmd:"" reads:"" help:"List the agents."`
	Show    agentsShowCmd   `cmd:"" reads:"" help:"Show an agent: status, effective capabilities, and what its model is told."`
	Create  agentsCreateCmd `cmd:"" help:"Create an agent."`
	Suspend agentsTurnCmd   `cmd:"" help:"Suspend an agent: it takes no work."`
	Resume  agentsTurnCmd   `cmd:"" help:"Resume a suspended agent."`
	Delete  agentsDeleteCmd `cmd:"" help:"End an agent."`
	Adopt   agentsAdoptCmd  `cmd:"" help:"Put an agent that others created, or a program that others wrote, below you: it works on when they are suspended or ended."`
}

// onAgent is what commands on one agent take.
type onAgent struct {
	onVenue
	Agent string `arg:"" help:"The agent's id."`
}

type agentsListCmd struct{ onVenue }

func (c *agentsListCmd) Run(ctx context.Context, s *streams) error {
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		infos, err := everyAgent(ctx, u)
		if err != nil {
			return err
		}
		const none = "there are no agents: the section agents of the configuration has them"
		header := []string{"AGENT", "STATUS", "CAPABILITIES", "BELOW", "DESCRIPTION"}
		err = printList(s, c.JSON, infos, none, header, func(info *agents.Info) []string {
			return []string{info.AgentID, info.Status, info.Caps.String(), orDash(strings.Join(info.Creators, ", ")), info.Config.Description}
		})
		if err != nil || c.JSON {
			return err
		}
		for i := range infos {
			c.noteIdle(s, &infos[i])
		}
		return nil
	})
}

// everyAgent is what there is to say of each agent of the user: asked for side by side, since
// an answer waits until the ledger has it.
func everyAgent(ctx context.Context, u *venue.User) ([]agents.Info, error) {
	list, err := u.Agents(ctx)
	if err != nil {
		return nil, err
	}
	infos := make([]agents.Info, len(list))
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(64)
	for i := range list {
		all.Go(func() (err error) {
			infos[i], err = ask[agents.Info](ctx, u, "agent:info", map[string]string{"agentId": list[i].AgentID})
			return err
		})
	}
	return infos, all.Wait()
}

// noteIdle says why an agent does nothing, or may do nothing, that could do something, and
// what helps.
func (f *fromConfig) noteIdle(s *streams, info *agents.Info) {
	if failing := info.Failing; failing != nil && info.Status == agents.Suspended {
		s.note(fmt.Sprintf("%s is SUSPENDED, and %s: %s lets it work again", info.AgentID, s.failures(failing), f.command("agents resume "+info.AgentID)))
	}
	var above []string
	for _, giver := range info.Lost {
		above = append(above, giver.AgentID+" is "+giver.Status)
	}
	if len(above) > 0 {
		s.note(fmt.Sprintf("%s may do nothing, since it is bounded by others and %s: %s puts it below you", info.AgentID, strings.Join(above, ", "), f.command("agents adopt "+info.AgentID)))
	}
}

// failures says which turns of an agent failed, and why the last one did.
func (s *streams) failures(f *agents.FailureStreak) string {
	return fmt.Sprintf("%s failed since %s: %s", many(f.Turns, "turn"), s.minute(time.UnixMilli(f.Since)), s.paint.line(f.Error, 200))
}

type agentsShowCmd struct{ onAgent }

// agentView is what agents show prints as JSON: with what its model is told, where the
// agent takes work.
type agentView struct {
	agents.Info
	Offered []string `json:"toolsOffered"`
	System  string   `json:"system"`
}

func (c *agentsShowCmd) Run(ctx context.Context, s *streams) error {
	return c.withAgent(ctx, s, c.Agent, func(_ *venue.User, agent *venue.Agent) error {
		info, err := agent.Info(ctx)
		if err != nil {
			return err
		}
		brief, briefErr := agent.Brief(ctx)
		if briefErr != nil && info.Status != agents.Suspended && info.Status != agents.Terminated {
			return briefErr
		}
		offered := make([]string, len(brief.Tools))
		for i, t := range brief.Tools {
			offered[i] = t.Name
		}
		if c.JSON {
			return s.printJSON(agentView{info, offered, brief.System})
		}
		rows := [][]string{{"agent", info.AgentID}, {"status", info.Status}, {"capabilities", info.Caps.String()}, {"below", strings.Join(info.Creators, ", ")}}
		if info.Config.Identity == agents.IdentityOwn {
			rows = append(rows, []string{"acts as", info.DID})
		}
		if briefErr == nil {
			rows = append(rows, []string{"tools offered", cmp.Or(strings.Join(offered, ", "), "(none)")})
		}
		if info.Failing != nil {
			rows = append(rows, []string{"failing", s.failures(info.Failing)})
		}
		rows = append(rows, []string{"sessions", fmt.Sprint(info.Sessions)})
		if info.Inbox > 0 {
			rows = append(rows, []string{"messages waiting", fmt.Sprintf("%d, heard at the next turn of their session", info.Inbox)})
		}
		if err := s.table(fullRows(append(rows, budgetRows(info)...))); err != nil {
			return err
		}
		c.noteIdle(s, &info)
		if briefErr != nil {
			s.note(c.explain(agent, briefErr).Error())
			return nil
		}
		_, err = fmt.Fprintf(s.out, "\n%s\n%s\n", s.paint.dim("What its model is told:"), s.paint.safe(brief.System))
		return err
	})
}

// fullRows is the rows that say something.
func fullRows(rows [][]string) [][]string {
	return slices.DeleteFunc(rows, func(row []string) bool { return row[1] == "" })
}

// budgetRows tells what an agent may spend, and what it has spent.
func budgetRows(info agents.Info) (rows [][]string) {
	priced := info.Spent.Money != 0 // no price is known, as a rule
	for _, b := range info.Budgets {
		priced = priced || b.Limits.Money != 0
		label := b.For + " budget"
		if b.Of != "" {
			label = "budget of " + b.Of
		}
		var parts []string
		limits := amounts(b.Limits)
		for i, set := range [...]bool{b.Limits.Calls != 0, b.Limits.Tokens != 0, b.Limits.Money != 0} {
			limit := limits[i]
			if b.Spent != nil {
				of, _, _ := strings.Cut(amounts(spend.Limits(*b.Spent))[i], " ")
				limit = of + " of " + limit
			}
			if set {
				parts = append(parts, limit)
			}
		}
		rows = append(rows, []string{label, strings.Join(parts, ", ")})
	}
	if info.Spent == (spend.Amount{}) {
		return rows
	}
	spent := amounts(spend.Limits(info.Spent))
	if !priced {
		spent = spent[:2]
	}
	return append(rows, []string{"spent", strings.Join(spent, ", ")})
}

// amounts are calls, tokens and money, for people.
func amounts(l spend.Limits) []string {
	return []string{many(l.Calls, "call"), many(l.Tokens, "token"), l.Money.String() + " in money"}
}

type agentsCreateCmd struct {
	onAgent
	Spec string `name:"spec" placeholder:"JSON|@FILE" help:"The agent: prompt, model, tools, context, output and caps. Without it, the configuration's agent of that id."`

	Overwrite bool `help:"Replace an agent of this id, even one that has ended."`
}

func (c *agentsCreateCmd) Run(ctx context.Context, s *streams) error {
	if err := agents.CheckID(c.Agent); err != nil {
		return misuse{err}
	}
	if c.Spec == "" {
		return c.createEntry(ctx, s)
	}
	written, err := s.argument(c.Spec)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(strings.TrimSpace(written), "{") {
		return misusef("--spec is not a JSON object: write {\"prompt\": …, \"caps\": […]}")
	}
	var spec agents.Spec
	if err := json.Unmarshal([]byte(written), &spec); err != nil {
		return misusef("--spec: %w", err)
	}
	set, _ := spec.Caps.Set()
	s.noteAbilities(set)
	return c.create(ctx, s, &spec)
}

// createEntry creates the agent that the configuration has under the id. An id
// that it lacks makes none: that agent would have no bounds, by a slip of the hand.
func (c *agentsCreateCmd) createEntry(ctx context.Context, s *streams) error {
	if _, err := c.load(s); err != nil {
		return err
	}
	if spec, ok := c.entry(c.Agent); ok {
		return c.create(ctx, s, &spec)
	}
	meant := form.Suggest(c.Agent, names(c.config.Agents, ofSpec))
	if meant != "" {
		meant = "; " + meant
	}
	return misusef("%s has no agent %q: give the new one with --spec, its caps included%s", c.Config, c.Agent, meant)
}

func (c *agentsCreateCmd) create(ctx context.Context, s *streams, spec *agents.Spec) error {
	if !spec.Caps.Present() && spec.Parent == "" {
		s.warn(c.Agent + ` has no caps, and so no bounds: write "caps": [] for nothing, or what it may do`)
	}
	input := map[string]any{"agentId": c.Agent, "config": spec, "overwrite": c.Overwrite}
	return answer(ctx, s, &c.onVenue, "agent:create", input, func(a agents.CreateResult) error {
		if !a.Created && !a.Updated {
			return fmt.Errorf("agent %s exists already, %s: --overwrite replaces it", a.AgentID, a.Status)
		}
		return s.print(c.Agent + " is " + a.Status + "\n")
	})
}

// agentsTurnCmd is suspend and resume: operations of the command's name.
type agentsTurnCmd struct{ onAgent }

func (c *agentsTurnCmd) Run(ctx context.Context, s *streams, called *kong.Context) error {
	input := map[string]string{"agentId": c.Agent}
	return answer(ctx, s, &c.onVenue, "agent:"+called.Selected().Name, input, func(a agents.State) error {
		return s.print(c.Agent + " is " + a.Status + "\n")
	})
}

type agentsDeleteCmd struct {
	onAgent
	Remove bool `help:"Remove the record and the sessions too."`
}

func (c *agentsDeleteCmd) Run(ctx context.Context, s *streams) error {
	c.ends = c.Agent
	input := map[string]any{"agentId": c.Agent, "remove": c.Remove}
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		gone, err := ask[agents.DeleteResult](ctx, u, "agent:delete", input)
		if err != nil {
			return err
		}
		now := gone.Status
		if gone.Removed {
			now = "removed"
		}
		if err := s.answer(c.JSON, gone, c.Agent+" is "+now+"\n"); err != nil {
			return err
		}
		return c.noteSchedules(ctx, s, u, c.Agent)
	})
}

type agentsAdoptCmd struct {
	onVenue
	Adopted string `arg:"" help:"The agent's id, or the path of a program such as o/report."`
}

func (c *agentsAdoptCmd) Run(ctx context.Context, s *streams) error {
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		input, text := map[string]any{"agentId": c.Adopted}, ""
		if strings.Contains(c.Adopted, "/") { // as no id does
			program, err := ask[readResult](ctx, u, "covia:read", map[string]string{"path": c.Adopted})
			if err != nil {
				return err
			}
			input = map[string]any{"path": c.Adopted}
			if program.Exists {
				input["value"] = program.Value
			}
			if text, err = document(program.Value); err != nil {
				return err
			}
		}
		done, err := ask[agents.AdoptResult](ctx, u, "agent:adopt", input)
		if err != nil {
			return err
		}
		return s.answer(c.JSON, done, c.Adopted+" is adopted\n"+s.paint.safe(text))
	})
}

// readResult is what covia:read answers.
type readResult struct {
	Exists bool            `json:"exists"`
	Value  json.RawMessage `json:"value"`
}
