package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"usher/caps"
	"usher/tools"
	"usher/tools/fault"
)

// forgetful takes decisions and no outcomes.
type forgetful struct{ memoryLedger }

var errDisk = errors.New("input/output error")

func (f *forgetful) RecordOutcome(ctx context.Context, seq uint64, failure error) error {
	_ = f.memoryLedger.RecordOutcome(ctx, seq, failure)
	return errDisk
}

func TestAnOutcomeThatCannotBeRecordedIsUnknown(t *testing.T) {
	for name, failure := range map[string]error{"it worked": nil, "it failed": errors.New("no such account")} {
		t.Run(name, func(t *testing.T) {
			ran := 0
			pay := tools.New("test:pay", "Pay.", func(struct{}) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} },
				func(context.Context, tools.Call, struct{}) (string, error) { ran++; return "paid", failure })
			g, mint := gate(t, new(forgetful), pay)
			res, err := g.Invoke(t.Context(), mint.User(owner(t, 1)), tools.Invocation{Operation: "test:pay"})
			if fault.Of(err) != fault.Unknown || fault.Of(err).Retryable() || !errors.Is(err, errDisk) || res.Output != nil || ran != 1 {
				t.Errorf("Invoke = %s, %v (%s) after %d runs, want %s after one", res.Output, err, fault.Of(err), ran, fault.Unknown)
			}
			if want := "Whether v/ops/test/pay took effect is unknown: look before you repeat it."; !strings.Contains(err.Error(), want) {
				t.Errorf("it is told as %q, want %q in it", err, want)
			}
		})
	}
}

// A decision of which nobody knows whether it was written lets nothing run, so its
// effect is known.
func TestADecisionThatCannotBeRecordedIsNotUnknown(t *testing.T) {
	var wrote []string
	lost := fault.New(fault.Unknown, "the write is unknown")
	g, mint := gate(t, &memoryLedger{broken: lost}, writer(&wrote))
	_, err := g.Invoke(t.Context(), mint.User(owner(t, 1)), tools.Invocation{Operation: "test:write", Input: json.RawMessage(`{"path":"w/a"}`)})
	if !errors.Is(err, lost) || fault.Of(err) != fault.Failed || len(wrote) != 0 {
		t.Errorf("Invoke = %v (%s), wrote %v; want %s and nothing run", err, fault.Of(err), wrote, fault.Failed)
	}
}

// What was stopped in its middle, or took too long, may have happened: only what
// may be repeated is told to be.
func TestWhatIsStoppedInItsMiddle(t *testing.T) {
	errLate := fault.New(fault.Timeout, "it took too long")
	late := func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeoutCause(ctx, time.Minute, errLate)
	}
	cancelled := func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(time.Minute, cancel)
		return ctx, cancel
	}
	never := func(ctx context.Context) (context.Context, context.CancelFunc) { return ctx, func() {} }
	denied := func(context.Context) error { return fmt.Errorf("inside: %w", new(caps.Denial)) }
	for _, tc := range []struct {
		name string
		ends func(context.Context) (context.Context, context.CancelFunc)
		opts []tools.Option
		fail func(context.Context) error // after the end; nil returns the context's error
		want fault.Code
		says string
	}{
		{"late", late, nil, nil, fault.Unknown, "it took too long. Whether v/ops/test/pay took effect is unknown"},
		{"late, and says so in its own words", late, nil, func(context.Context) error { return errors.New("signal: killed") }, fault.Unknown, "it took too long."},
		{"late, idempotent", late, []tools.Option{tools.Idempotent()}, nil, fault.Timeout, "deadline exceeded"},
		{"late, read only", late, []tools.Option{tools.ReadOnly()}, nil, fault.Timeout, "deadline exceeded"},
		{"stopped", cancelled, nil, nil, fault.Unknown, "context canceled. Whether"},
		{"stopped, idempotent", cancelled, []tools.Option{tools.Idempotent()}, nil, fault.Canceled, "context canceled"},
		{"late by its own clock", never, nil, func(context.Context) error { return fmt.Errorf("bank: %w", errLate) }, fault.Unknown, "bank: it took too long. Whether"},
		{"late by its own clock, idempotent", never, []tools.Option{tools.Idempotent()}, func(context.Context) error { return errLate }, fault.Timeout, "it took too long"},
		{"sealed", cancelled, []tools.Option{tools.WithSeal()}, func(ctx context.Context) error { return fmt.Errorf("hunter2: %w", ctx.Err()) }, fault.Unknown, "context canceled. Whether"},
		{"denied in the end", late, nil, denied, fault.Denied, "Capability denied"},
		{"failed in time", never, nil, func(context.Context) error { return errors.New("no such account") }, fault.Failed, "no such account"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pay := tools.New("test:pay", "Pay.", func(struct{}) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} },
					func(ctx context.Context, _ tools.Call, _ struct{}) (any, error) {
						select {
						case <-ctx.Done():
						case <-time.After(time.Hour):
						}
						if tc.fail != nil {
							return nil, tc.fail(ctx)
						}
						return nil, ctx.Err()
					}, tc.opts...)
				ledger := new(memoryLedger)
				g, mint := gate(t, ledger, pay)
				ctx, cancel := tc.ends(t.Context())
				defer cancel()
				_, err := g.Invoke(ctx, mint.User(owner(t, 1)), tools.Invocation{Operation: "test:pay"})
				if code := fault.Of(err); code != tc.want || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("Invoke = %v (%s), want %s and %q", err, code, tc.want, tc.says)
				}
				if strings.Contains(err.Error(), "hunter2") {
					t.Errorf("a sealed operation is told as %v", err)
				}
				if len(ledger.outcomes) != 1 || fault.Of(ledger.outcomes[0]) != tc.want {
					t.Errorf("the ledger has %v, want one outcome %s", ledger.outcomes, tc.want)
				}
			})
		})
	}
}
