package tools_test

import (
	"context"
	"encoding/json"
	"fmt"

	"usher/caps"
	"usher/tools"
)

// An operation takes a secret by its handle. The field brings its own requirement.
func ExampleSecret() {
	type payment struct {
		To  string       `json:"to"`
		Key tools.Secret `json:"key"`
	}
	pay := tools.New("bank:pay", "Pay somebody.",
		func(in payment) []caps.Request { return []caps.Request{caps.Need("invoke", "bank/"+in.To)} },
		func(ctx context.Context, call tools.Call, in payment) (string, error) {
			key, err := in.Key.Open(ctx, call)
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("paid with a key of %d bytes", len(key)), nil
		})
	needs, err := pay.Requirements(json.RawMessage(`{"to":"bob","key":"secret:BANK"}`))
	fmt.Println(needs, err)
	// Output: [invoke on bank/bob secret/decrypt on s/BANK] <nil>
}
