package tools

import (
	"context"
	"encoding/json"
)

// FitsOutput says what of an output does not fit the operation's output schema,
// at the expense of meter. Any value fits where there is none.
func (o *Operation) FitsOutput(ctx context.Context, output json.RawMessage, meter *Meter) error {
	s, err := o.made()
	if err != nil || s.output == nil {
		return err
	}
	return s.output.Validate(ctx, output, meter.ChargeSchema)
}
