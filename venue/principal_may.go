package venue

import (
	"context"

	"usher/tools"
	"usher/tools/fault"
)

// may reports why the principal may not do what an operation does. One in person may, and
// of others the gate decides, and records it.
func (p *Principal) may(ctx context.Context, operation string, input any) error {
	if p.auth.IsUnbounded() {
		return p.valid(ctx)
	}
	_, err := p.Invoke(ctx, operation, input)
	return err
}

// Still says why the principal may not do now, or not any more, what an operation does: its
// token has ended, what bounds it does not allow it, or a person would have to. It records
// nothing, and asks nobody.
func (p *Principal) Still(ctx context.Context, operation string, input any) error {
	_, err := p.still(ctx, operation, input)
	return err
}

// still is [Principal.Still], and whether only a person is missing.
func (p *Principal) still(ctx context.Context, operation string, input any) (asks bool, err error) {
	if p.auth.IsUnbounded() {
		return false, p.valid(ctx)
	}
	ruling, err := p.Decide(ctx, operation, input)
	if err != nil {
		return false, err
	}
	switch ruling.Verdict() {
	case tools.Allowed:
		return false, nil
	case tools.Asked:
		return true, fault.New(fault.ApprovalRequired, ruling.Reason())
	}
	if denial := ruling.Denial(); denial != nil {
		return false, denial
	}
	return false, fault.New(fault.Refused, ruling.Reason())
}

// stillMay is [Principal.Still] of what the principal was let do just now and goes on, such
// as to follow a run: where a person had to allow it, that counts to its end.
func (p *Principal) stillMay(ctx context.Context, operation string, input any) func(context.Context) error {
	approved, _ := p.still(ctx, operation, input)
	return func(ctx context.Context) error {
		asks, err := p.still(ctx, operation, input)
		if asks && approved {
			return nil
		}
		return err
	}
}
