package ap

import (
	"context"
	"iter"
	"slices"
	"sync"

	"usher/runtime"
	"usher/venue/config"
)

// plugged is a model of the user's behind the agents that do the department's
// work, and what each of them used of it. The adversary keeps its program.
type plugged struct {
	name   string
	meters []*meter
}

// plug returns the models of the department with m in place of the programs,
// by the names that the configuration has for them.
func plug(cfg *config.Config, name string, m runtime.Model) (*plugged, map[string]runtime.Model) {
	p, models := &plugged{name: name}, make(map[string]runtime.Model)
	for _, a := range cfg.Agents {
		behind := &meter{model: m, agent: a.ID}
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
	return p != nil && slices.ContainsFunc(p.meters, func(m *meter) bool { return m.agent == agent })
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

// meter adds up what one agent uses of a model.
type meter struct {
	model runtime.Model
	agent string

	mu    sync.Mutex
	calls int
	usage runtime.Usage
}

var (
	_ runtime.Model   = (*meter)(nil)
	_ runtime.Wrapper = (*meter)(nil)
)

func (m *meter) Unwrap() runtime.Model { return m.model }

func (m *meter) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		var usage runtime.Usage
		defer func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.calls, m.usage = m.calls+1, m.usage.Plus(usage)
		}()
		for chunk, err := range m.model.Generate(ctx, req) {
			if chunk.Usage != nil {
				usage = *chunk.Usage
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// used is what an agent used of the model.
type used struct {
	Agent string `json:"agent"`
	Calls int    `json:"modelCalls"`
	runtime.Usage
}

func (p *plugged) used() []used {
	var out []used
	for _, m := range p.meters {
		m.mu.Lock()
		out = append(out, used{m.agent, m.calls, m.usage})
		m.mu.Unlock()
	}
	return out
}
