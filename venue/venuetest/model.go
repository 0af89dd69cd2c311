package venuetest

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"

	"usher/runtime"
)

// Model is a model that a test moves: it makes the calls that it is given, one
// answer each, and then says what it was told last. The zero value is ready.
type Model struct {
	Usage  *runtime.Usage // of each answer
	Gossip bool           // it says all that it was ever told, not the last alone

	mu      sync.Mutex // guards what follows
	between []func()
	calls   []runtime.CallDelta
	results []string
	systems []string
}

var _ runtime.Model = (*Model)(nil)

// Ask has the model make a call.
func (m *Model) Ask(tool, arguments string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, runtime.CallDelta{Name: tool, Arguments: arguments})
}

// Between has f happen when the result of the next call has come, before the model
// goes on. Called n times, it has something happen after each of n results.
func (m *Model) Between(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.between = append(m.between, f)
}

// happen does what is to happen between two calls.
func (m *Model) happen(req *runtime.Request) {
	if req.Messages[len(req.Messages)-1].Role != runtime.RoleTool {
		return
	}
	m.mu.Lock()
	var f func()
	if len(m.between) > 0 {
		f, m.between = m.between[0], m.between[1:]
	}
	m.mu.Unlock()
	if f != nil {
		f()
	}
}

// Results are the results of its calls, as it was told them.
func (m *Model) Results() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.results)
}

// Systems are the system messages of its requests.
func (m *Model) Systems() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.systems)
}

// Forget drops the results and the system messages.
func (m *Model) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.results, m.systems = nil, nil
}

// Generate makes the next call, or answers.
func (m *Model) Generate(_ context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	m.happen(req)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.systems = append(m.systems, req.System)
	last := req.Messages[len(req.Messages)-1]
	if last.Role == runtime.RoleTool {
		m.results = append(m.results, last.Text)
	}
	answer := runtime.Chunk{Text: last.Text, Usage: m.Usage}
	if m.Gossip {
		var all strings.Builder
		for _, said := range req.Messages {
			all.WriteString(said.Text + "\n")
		}
		answer.Text = all.String()
	}
	if len(m.calls) > 0 {
		answer = runtime.Chunk{Call: &m.calls[0], Usage: m.Usage}
		m.calls = m.calls[1:]
	}
	return one(answer)
}

// Says is a model that answers with a text, whatever it is asked.
func Says(text string) runtime.Model {
	return runtime.ModelFunc(func(context.Context, *runtime.Request) iter.Seq2[runtime.Chunk, error] {
		return one(runtime.Chunk{Text: text})
	})
}

func one(chunk runtime.Chunk) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) { yield(chunk, nil) }
}
