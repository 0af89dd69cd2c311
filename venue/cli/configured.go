package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"usher/tools/agents"
	"usher/venue"
)

// mainSession is where messages and conversations go that name no session.
const mainSession = "main"

// command is a command of ours for a person to type, on the same venue.
func (f *fromConfig) command(rest string) string {
	if f.Config != "usher.yaml" {
		rest += " -c " + f.Config
	}
	if f.Data != "" {
		rest += " --data " + f.Data
	}
	return "usher " + rest
}

// entry is the configuration's agent of the id.
func (f *fromConfig) entry(id string) (spec agents.Spec, ok bool) {
	for _, spec := range f.config.Agents {
		if spec.ID == id {
			return spec, true
		}
	}
	return agents.Spec{}, false
}

// unknownAgent adds to an error about a missing agent how to get it back, where
// the configuration has it, or else which there are.
func (f *fromConfig) unknownAgent(ctx context.Context, u *venue.User, err error) error {
	var missing *venue.NoAgentError
	if !errors.As(err, &missing) {
		return err
	}
	if _, ok := f.entry(missing.ID); ok {
		return misusef("%w: %s has it, and %s makes it as it stands there", err, f.Config, f.command("agents create "+missing.ID))
	}
	list, listErr := u.Agents(ctx)
	if listErr != nil || len(list) == 0 {
		return misuse{err}
	}
	names := make([]string, len(list))
	for i, a := range list {
		names[i] = a.AgentID
	}
	return misusef("%w; there are: %s", err, strings.Join(names, ", "))
}

// explain says of an agent that has ended how it comes back, with no more than
// somebody says it may do.
func (f *fromConfig) explain(agent *venue.Agent, err error) error {
	if err == nil || !agent.Ended() {
		return err
	}
	again := f.command("agents create " + agent.ID() + " --overwrite")
	if _, ok := f.entry(agent.ID()); ok {
		return fmt.Errorf("agent %s is TERMINATED: %s makes it anew as %s says, without its sessions", agent.ID(), again, f.Config)
	}
	return fmt.Errorf("agent %s is TERMINATED: %s --spec @FILE makes another in its place, without its sessions; the file says its caps", agent.ID(), again)
}

// outlived says that the configuration has an agent that was ended.
func (f *fromConfig) outlived(s *streams, id string, removed bool) {
	if _, ok := f.entry(id); !ok {
		return
	}
	if f.dir == "" {
		s.note(fmt.Sprintf("%s still has it, and keeps nothing on disk: with the next command %s is back", f.Config, id))
		return
	}
	again := "agents create " + id
	if !removed {
		again += " --overwrite"
	}
	s.note(fmt.Sprintf("%s still has it; it stays ended until its entry there changes, or %s brings it back: take the entry out if it should not", f.Config, f.command(again)))
}

// kept says of an entry of data that was not written how it gets there.
func (f *fromConfig) kept(k venue.Kept) string {
	at, how := k.Path, `invoke covia:write '{"path":%s,"value":…}'`
	if k.Below != "" {
		at, how = k.Below, `invoke covia:delete '{"path":%s}'`
	}
	path, err := json.Marshal(at)
	if err != nil {
		return k.String()
	}
	return fmt.Sprintf("%s (%s)", k, f.command(fmt.Sprintf(how, path)))
}

// waiting says that messages wait.
func waiting(n int) string {
	if n == 1 {
		return "1 message waits"
	}
	return many(n, "message") + " wait"
}

// it stands for n messages.
func it(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}
