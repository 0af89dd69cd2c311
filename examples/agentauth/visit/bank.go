package visit

import (
	"context"
	"encoding/json"
	"fmt"

	"usher/caps"
	"usher/tools"
)

// payment is what bank:transfer takes.
type payment struct {
	To     string `json:"to"`
	Amount int    `json:"amount" jsonschema:"in euros"`
}

// readAccount reads the account of whoever the call works for, as that may.
func readAccount(ctx context.Context, call tools.Call, path string, into any) error {
	res, err := call.Invoke(ctx, "covia:read", json.RawMessage(fmt.Sprintf(`{"path":%q}`, path)))
	if err != nil {
		return err
	}
	return json.Unmarshal(res.Output, &struct{ Value any }{into})
}

// on is what each call of an operation of the bank requires.
func on(name string) []caps.Request { return []caps.Request{caps.Need("invoke", "bank/"+name)} }

// bankOperations are what the bank does for people, on their own accounts.
func bankOperations() []*tools.Operation {
	return []*tools.Operation{
		tools.New("bank:balance", "Read the balance of the account.", func(struct{}) []caps.Request { return on("balance") },
			func(ctx context.Context, call tools.Call, _ struct{}) (out struct{ Balance int }, err error) {
				return out, readAccount(ctx, call, "w/account/balance", &out.Balance)
			}, tools.ReadOnly()),
		tools.New("bank:statement", "Read all of the account.", func(struct{}) []caps.Request { return on("statement") },
			func(ctx context.Context, call tools.Call, _ struct{}) (out object, err error) {
				return out, readAccount(ctx, call, "w/account", &out)
			}, tools.ReadOnly()),
		tools.New("bank:transfer", "Transfer money from the account.", func(payment) []caps.Request { return on("transfer") }, transferMoney),
	}
}

func transferMoney(ctx context.Context, call tools.Call, in payment) (object, error) {
	var balance int
	if err := readAccount(ctx, call, "w/account/balance", &balance); err != nil {
		return nil, err
	}
	if in.Amount < 1 || in.Amount > balance {
		return nil, fmt.Errorf("the account has %d: transfer 1 up to that", balance)
	}
	_, err := call.Invoke(ctx, "covia:write", json.RawMessage(fmt.Sprintf(`{"path":"w/account/balance","value":%d}`, balance-in.Amount)))
	return object{"to": in.To, "moved": in.Amount}, err
}
