// Package visit is the demo of Agent-Auth: two venues, each on a port of this machine, that
// know nothing of each other but what the wire says. Acme has an agent that pays bills. Bank
// lets agents in, each for what a customer of it approves: Alice approves less than the
// agent asks for, it works within that, is refused beyond it, asks for more, and is revoked.
//
// [Demo] runs it. The story is data; what must come of each step stands beside it and is
// checked. The agent's model follows plain instructions, so nothing here needs a key or a
// network.
package visit

import (
	"context"
	"errors"
	"fmt"

	"usher/venue/cli"
)

// errUnexpected: something in the demo came out otherwise than it must.
var errUnexpected = errors.New("the demo did not come out as it must")

// Demo tells the story, prints what came of it, and returns an error where that is not what
// was approved. It takes no invoice and no model.
func Demo(ctx context.Context, opts cli.DemoOptions) error {
	if err := opts.RefuseFlags("Agent-Auth"); err != nil {
		return err
	}
	return demo(ctx, tell(), opts)
}

func demo(ctx context.Context, scenes []scene, opts cli.DemoOptions) (err error) {
	s := &stage{dir: opts.Dir, telemetry: opts.Telemetry, report: report{Scenes: scenes, Unexpected: []string{}}}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.open(ctx); err != nil {
		return err
	}
	if err = s.play(ctx); err == nil {
		err = opts.Tell(s.report, s.print)
	}
	if err == nil && len(s.Unexpected) > 0 {
		err = fmt.Errorf("%w: %s", errUnexpected, s.Unexpected[0])
	}
	return err
}
