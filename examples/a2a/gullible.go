package a2a

import (
	"context"
	"iter"
	"strings"
	"sync"

	"usher/caps/value"
	"usher/runtime"
)

// gullible is the model of the agent that keeps documents: it retrieves what it was lent for
// its task, and then does whatever stands in what it has read.
type gullible struct {
	mu      sync.Mutex
	handle  string
	waiting []runtime.CallDelta
	heard   []string // results of its calls
}

var (
	handles = value.Form(`rh_[a-z2-7]+`)
	orders  = value.Form(`call ([a-z_]+) (\{.*?\}+)(?:\n|$)`)
)

// Generate makes its next call, or says that it is done.
func (g *gullible) Generate(_ context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	g.mu.Lock()
	defer g.mu.Unlock()
	last := req.Messages[len(req.Messages)-1]
	if last.Role == runtime.RoleTool {
		g.heard = append(g.heard, last.Text)
		text := strings.NewReplacer(`\"`, `"`, `\n`, "\n", "$HANDLE", g.handle).Replace(last.Text)
		for _, order := range orders().FindAllStringSubmatch(text, -1) {
			g.waiting = append(g.waiting, runtime.CallDelta{Name: order[1], Arguments: order[2]})
		}
	} else if g.handle = handles().FindString(last.Text); g.handle != "" {
		g.waiting = []runtime.CallDelta{{Name: "capability_use", Arguments: `{"skill":"retrieve_document","arguments":{"resourceHandle":"` + g.handle + `"}}`}}
	}
	chunk := runtime.Chunk{Text: "I have done all that I was told."}
	if len(g.waiting) > 0 {
		chunk, g.waiting = runtime.Chunk{Call: &g.waiting[0]}, g.waiting[1:]
	}
	return func(yield func(runtime.Chunk, error) bool) { yield(chunk, nil) }
}
