// Package delegation is the demo of authority that crosses namespaces: two
// users, three agents that act as themselves, and signed delegations between
// them. Alice lets her broker into a folder, the broker lets a carrier of Bob's
// into one shipment of it, the carrier lets an auditor read its status. They
// work, they try more than they hold, and a link in the middle of the chain is
// revoked while the auditor reads.
//
// [Demo] runs it. The story is data, a plan; what must come of each step stands
// beside it and is checked, in the words of the gate, in what is stored and in
// the ledger. The agents' models follow plain instructions, so nothing here
// needs a key or a network.
package delegation

import (
	"context"
	"errors"
	"fmt"

	"usher/runtime"
	"usher/runtime/offline"
	"usher/venue"
	"usher/venue/cli"
)

// ErrUnexpected: something in the demo came out otherwise than it must.
var ErrUnexpected = errors.New("the demo did not come out as it must")

// Demo tells the story, prints what came of it, and returns [ErrUnexpected]
// where that is not what the delegations demand. It takes no invoice and no model.
func Demo(ctx context.Context, opts cli.DemoOptions) error {
	if opts.Invoice != nil {
		return cli.Misuse(errors.New("the delegation demo takes no invoice: leave --invoice out, or run usher demo ap"))
	}
	if opts.Model != "" {
		return cli.Misuse(errors.New("the delegation demo's agents follow a script: leave --model out, or run usher demo ap --model " + opts.Model))
	}
	return demo(ctx, story(), opts)
}

func demo(ctx context.Context, p plan, opts cli.DemoOptions) (err error) {
	follows := &model{Model: offline.Model{}}
	v, err := venue.Open(ctx, &venue.Options{
		Dir: opts.Dir, Models: map[string]runtime.Model{"default": follows}, Telemetry: opts.Telemetry,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	s := &stage{v: v, model: follows, plan: p, dir: opts.Dir, report: &report{Unexpected: []string{}}}
	if err := s.run(ctx); err != nil {
		return err
	}
	if err := s.print(opts); err != nil {
		return err
	}
	if u := s.report.Unexpected; len(u) > 0 {
		return fmt.Errorf("%w: %s", ErrUnexpected, s.plain(u[0]))
	}
	return nil
}
