package ap

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"
	"time"

	"usher/runtime"
	"usher/venue/cli"
	"usher/venue/config"
)

// plugged is a model of the user's behind the agents that do the department's
// work, and what each of them used of it. The adversary keeps its program.
type plugged struct {
	name   string
	priced bool // what an answer costs is told with it
	meters []*meter

	mu      sync.Mutex // guards what follows, and is taken alone
	failure *failure   // the model's first that is not of one answer
	notes   io.Writer  // what happens while the model takes its time
}

// plug returns the models of the department with m in place of the programs,
// by the names that the configuration has for them.
func plug(cfg *config.Config, name string, m cli.DemoModel, notes io.Writer) (*plugged, map[string]runtime.Model) {
	p, models := &plugged{name: name, priced: m.Priced, notes: notes}, make(map[string]runtime.Model)
	for _, a := range cfg.Agents {
		behind := &meter{plugged: p, model: m.Model, used: used{Agent: a.ID}}
		switch cfg.Models[a.Model].Provider {
		case "ap/adversary":
			continue
		case "ap/manager":
			models[a.Model] = &scripted{model: behind, script: manage}
		default:
			models[a.Model] = behind
		}
		p.meters = append(p.meters, behind)
	}
	return p, models
}

// behind reports whether the model is behind an agent.
func (p *plugged) behind(agent string) bool {
	return p != nil && slices.ContainsFunc(p.meters, func(m *meter) bool { return m.spent().Agent == agent })
}

// fail notes an error of the model. The first one that more requests would only
// repeat is the failure that stops the work.
func (p *plugged) fail(agent string, err error) {
	if ofOneAnswer(err) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failure == nil {
		p.failure = &failure{Agent: agent, Words: err.Error(), model: p.name, err: err}
	}
}

// failed is the failure that stops the work, or nil.
func (p *plugged) failed() *failure {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failure
}

// delayed tells why an answer does not come yet.
func (p *plugged) delayed(agent string, d *runtime.Delay) {
	next := fmt.Sprintf("waiting %s", max(d.Wait, 100*time.Millisecond).Round(100*time.Millisecond))
	switch {
	case d.Next != "":
		next = "asking " + d.Next + " instead"
	case d.Try > 0:
		next = fmt.Sprintf("%s (try %d of %d)", next, d.Try, d.Tries)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.notes, told(fmt.Sprintf("model of %s: %s: %s", agent, d.Reason, next)))
}

func (p *plugged) used() []used {
	var out []used
	for _, m := range p.meters {
		out = append(out, m.spent())
	}
	return out
}

// scripted is a model that leaves probing the gate to a program: one that
// declines to attack would prove nothing about the gate.
type scripted struct {
	model  runtime.Model
	script program
}

var (
	_ runtime.Model   = (*scripted)(nil)
	_ runtime.Wrapper = (*scripted)(nil)
)

func (s *scripted) Unwrap() runtime.Model { return s.model }

func (s *scripted) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	if probing(newTurn(req).task) {
		return s.script.Generate(ctx, req)
	}
	return s.model.Generate(ctx, req)
}
