// Package delegation is the demo of authority that crosses namespaces: two
// users, three agents that act as themselves, and signed delegations between
// them. Alice lets her broker into a folder, the broker lets a carrier of Bob's
// into one shipment of it, the carrier lets an auditor read its status. They
// work, they try more than they hold, and a link in the middle of the chain is
// revoked while the auditor reads.
//
// [Demo] runs it. The story is data; what must come of each step stands beside it
// and is checked, in the words of the gate and in the ledger.
// The agents' models follow plain instructions, so nothing here needs a key or a
// network.
package delegation

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"

	"usher/runtime"
	"usher/runtime/offline"
	"usher/venue"
	"usher/venue/cli"
)

// errUnexpected: something in the demo came out otherwise than it must.
var errUnexpected = errors.New("the demo did not come out as it must")

// Demo tells the story, prints what came of it, and returns an error where that is
// not what the delegations demand. It takes no invoice and no model.
func Demo(ctx context.Context, opts cli.DemoOptions) error {
	if err := opts.Scripted("delegation"); err != nil {
		return err
	}
	return demo(ctx, tell(), opts)
}

func demo(ctx context.Context, st story, opts cli.DemoOptions) (err error) {
	s := &stage{story: st, model: &model{Model: offline.Model{}}, dir: opts.Dir, report: report{Unexpected: []string{}}}
	s.v, err = venue.Open(ctx, &venue.Options{Dir: opts.Dir, Models: map[string]runtime.Model{"default": s.model}, Telemetry: opts.Telemetry})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.v.Close()) }()
	if err = s.play(ctx); err == nil {
		err = opts.Tell(s.report, s.print)
	}
	if err == nil && len(s.Unexpected) > 0 {
		err = fmt.Errorf("%w: %s", errUnexpected, s.Unexpected[0])
	}
	return err
}

// model follows instructions, and lets something happen between two calls of one
// turn: once, before it asks for the next call.
type model struct {
	runtime.Model
	between atomic.Pointer[func() error]
}

func (m *model) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	if last := req.Messages[len(req.Messages)-1]; last.Role == runtime.RoleTool {
		if happen := m.between.Swap(nil); happen != nil {
			if err := (*happen)(); err != nil {
				return func(yield func(runtime.Chunk, error) bool) { yield(runtime.Chunk{}, err) }
			}
		}
	}
	return m.Model.Generate(ctx, req)
}
