package venue_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
	"usher/tools/fault"
	"usher/venue"
)

// payment is the input of an operation that takes a secret by its handle.
type payment struct {
	To  string       `json:"to"`
	Key tools.Secret `json:"key"`
	As  string       `json:"as,omitempty"`
}

type paid = map[string]any

// bank has an operation that opens handles, and does with the value what it is told.
type bank struct{ got []string }

func (b *bank) pay() *tools.Operation {
	return tools.New("bank:pay", "Pay somebody.",
		func(in payment) []caps.Request { return []caps.Request{caps.Need("invoke", "bank/"+in.To)} },
		func(ctx context.Context, call tools.Call, in payment) (paid, error) {
			handle := in.Key
			if in.As == "another" {
				if err := json.Unmarshal([]byte(`"secret:OTHER"`), &handle); err != nil {
					return paid{}, err
				}
			}
			key, err := handle.Open(ctx, call)
			if err != nil {
				return paid{}, err
			}
			b.got = append(b.got, key)
			switch in.As {
			case "output":
				return paid{"receipt": map[string]any{"nested": []any{"with " + key}, key: 1}}, nil
			case "error":
				return paid{}, fault.New(fault.Busy, `post "https://bank.example/?key=`+key+`": no route`)
			case "nothing":
				return nil, nil
			case "panic":
				panic("with " + key)
			}
			return paid{"receipt": "thanks"}, nil
		}, tools.Within(caps.ScopeUnder("invoke", "bank", 1, 1)))
}

// A secret that an operation takes by its handle is opened for its handler alone:
// who may not decrypt it is denied, and no result, error, log, ledger row, record,
// file or request to a model has the value.
func TestH17SecretsByHandle(t *testing.T) {
	const handle = `"key":"secret:PAY"`
	may := `{"with":"bank/","can":"invoke"},{"with":"o/","can":"invoke"},{"with":"bank/","can":"invoke"}`
	dir, b, p := t.TempDir(), new(bank), new(puppet)
	var logged bytes.Buffer
	v, err := venue.Open(t.Context(), &venue.Options{
		Dir: dir, Tools: []*tools.Operation{b.pay()}, Models: map[string]runtime.Model{"default": p},
		Logger: slog.New(slog.NewJSONHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	alice := user(t, v, "alice")
	setSecret(t, alice, "PAY", value)
	setSecret(t, alice, "OTHER", "another "+value)
	invoke(t, alice, "covia:write", `{"path":"o/pay","value":{"operation":{"adapter":"orchestrator","steps":[{"op":"bank:pay","input":{"to":"bob",`+handle+`,"as":"output"}}]}}}`)
	seen := uint64(0) // rows of the ledger
	for name, tc := range map[string]struct {
		op, input string // op is bank:pay without one
		caps      string // of the agent
		want      string // in the outcome
		opened    bool
	}{
		"allowed":                    {input: `{"to":"bob",` + handle + `}`, caps: may + `,{"with":"s/PAY","can":"secret/decrypt"}`, want: "thanks", opened: true},
		"in what it returns":         {input: `{"to":"bob",` + handle + `,"as":"output"}`, caps: may + `,{"with":"s/","can":"secret"}`, want: "with [redacted]", opened: true},
		"in nothing that it returns": {input: `{"to":"bob",` + handle + `,"as":"nothing"}`, caps: may + `,{"with":"s/","can":"secret"}`, want: "null", opened: true},
		"in its error":               {input: `{"to":"bob",` + handle + `,"as":"error"}`, caps: may + `,{"with":"s/","can":"secret"}`, want: "?key=[redacted]", opened: true},
		"in its panic":               {input: `{"to":"bob",` + handle + `,"as":"panic"}`, caps: may + `,{"with":"s/","can":"secret"}`, want: "panic: [redacted]", opened: true},
		"in a job":                   {op: "grid:run", input: `{"operation":"bank:pay","input":{"to":"bob",` + handle + `,"as":"output"}}`, caps: may + `,{"with":"","can":"invoke"},{"with":"s/","can":"secret"}`, want: "with [redacted]", opened: true},
		"in a step":                  {op: "o/pay", input: `{}`, caps: may + `,{"with":"s/","can":"secret"}`, want: "with [redacted]", opened: true},
		"denied":                     {input: `{"to":"bob",` + handle + `}`, caps: may + `,{"with":"s/OTHER","can":"secret/decrypt"}`, want: "v/ops/bank/pay requires secret/decrypt on s/PAY"},
		"denied in a step":           {op: "o/pay", input: `{}`, caps: may + `,{"with":"s/OTHER","can":"secret/decrypt"}`, want: "v/ops/bank/pay requires secret/decrypt on s/PAY"},
		"not even offered":           {input: `{"to":"bob",` + handle + `}`, caps: may, want: "requires secret/decrypt on s/PAY"},
		"no such secret":             {input: `{"to":"bob","key":"secret:NONE"}`, caps: may + `,{"with":"s/","can":"secret"}`, want: `there is no secret \"NONE\"`},
		"another than was named":     {input: `{"to":"bob",` + handle + `,"as":"another"}`, caps: may + `,{"with":"s/","can":"secret"}`, want: "no handle of this call's input"},
	} {
		t.Run(name, func(t *testing.T) {
			b.got = nil
			p.Forget()
			s := spec(strings.ReplaceAll(name, " ", "-"), "", "["+tc.caps+"]")
			s.Tools = []string{"bank:pay", "grid:run", "o/pay"}
			tool := map[string]string{"": "bank_pay", "grid:run": "grid_run", "o/pay": "o_pay"}[tc.op]
			attempt(t, create(t, alice, s), p, tool, tc.input)
			told := strings.Join(append(p.Results(), p.Systems()...), "\n")
			if !strings.Contains(told, tc.want) {
				t.Errorf("the model was told %s; want %s", told, tc.want)
			}
			if (len(b.got) == 1 && b.got[0] == value) != tc.opened {
				t.Errorf("the handler got %q", b.got)
			}
			var rows strings.Builder
			for row, err := range v.Audit(t.Context(), seen+1) {
				if err != nil {
					t.Fatal(err)
				}
				raw, err := json.Marshal(row)
				if err != nil {
					t.Fatal(err)
				}
				rows.Write(raw)
				seen = row.Seq
			}
			for place, text := range map[string]string{"what the model was told": told, "the log": logged.String(), "the ledger": rows.String()} {
				if strings.Contains(text, value) {
					t.Errorf("the value stands in %s: %s", place, text)
				}
			}
			decided := tc.opened || strings.Contains(tc.want, "no handle")
			if decided != strings.Contains(rows.String(), `"ability":"secret/decrypt","resource":"s/PAY","by"`) {
				t.Errorf("the ledger has %s", rows.String())
			}
		})
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if found := inFiles(t, dir, value); found != nil {
		t.Errorf("the value stands in %v", found)
	}
}

// A secret in place of its handle is refused before anything else, and the refusal
// says what to write.
func TestSecretsInPlaceOfHandles(t *testing.T) {
	b := new(bank)
	v := open(t, &venue.Options{Tools: []*tools.Operation{b.pay()}})
	alice := user(t, v, "alice")
	setSecret(t, alice, "PAY", value)
	for _, key := range []string{`"` + value + `"`, `"secret:"`, `"secret:../PAY"`, `"SECRET:PAY"`, `"secret:` + strings.Repeat("x", 65) + `"`, `{"name":"PAY"}`, `17`} {
		_, err := alice.Invoke(t.Context(), "bank:pay", json.RawMessage(`{"to":"bob","key":`+key+`}`))
		if input, ok := errors.AsType[*tools.InputError](err); !ok || !strings.Contains(input.Error(), "key takes the handle of a secret") || strings.Contains(err.Error(), value) {
			t.Errorf("with the key %s: %v", key, err)
		}
	}
	if _, err := alice.Invoke(t.Context(), "bank:pay", json.RawMessage(`{"to":"bob"}`)); err == nil || len(b.got) > 0 {
		t.Errorf("without a key: %v, and the handler got %q", err, b.got)
	}
}

// Handles require what they are for wherever they stand in an input.
func TestWhereHandlesStand(t *testing.T) {
	type within struct {
		In tools.Secret `json:"in,omitzero"`
	}
	type deep struct {
		within
		One  *payment                `json:"one,omitempty"`
		Some []tools.Secret          `json:"some,omitempty"`
		By   map[string]tools.Secret `json:"by,omitempty"`
	}
	op := tools.New("bank:deep", "Look deep.", func(deep) []caps.Request { return []caps.Request{caps.NeedAbility("invoke")} },
		func(context.Context, tools.Call, deep) (paid, error) { return paid{}, nil })
	for list, want := range map[string]bool{`[{"with":"bank/","can":"invoke"}]`: false, `[{"with":"bank/","can":"invoke"},{"with":"s/PAY","can":"secret/decrypt"}]`: true} {
		set, err := caps.ParseSet([]byte(list))
		if err != nil {
			t.Fatal(err)
		}
		if got := new(bank).pay().CouldAllow(set); got != want {
			t.Errorf("with %s it is offered: %t, want %t", list, got, want)
		}
	}
	for input, want := range map[string]string{
		`{}`:                                    "[invoke]",
		`{"some":["secret:A","secret:B"]}`:      "[invoke secret/decrypt on s/A secret/decrypt on s/B]",
		`{"by":{"x":"secret:A"}}`:               "[invoke secret/decrypt on s/A]",
		`{"one":{"to":"","key":"secret:A"}}`:    "[invoke secret/decrypt on s/A]",
		`{"in":"secret:A"}`:                     "[invoke secret/decrypt on s/A]",
		`{"in":"` + value + `"}`:                "deep: in takes the handle",
		`{"some":["secret:A","` + value + `"]}`: "some[1] takes the handle",
		`{"one":{"key":"` + value + `"}}`:       "one.key takes the handle",
	} {
		needs, err := op.Requirements(json.RawMessage(input))
		if got := fmt.Sprint(needs, err); !strings.Contains(got, want) {
			t.Errorf("Requirements(%s) = %s, want %s", input, got, want)
		}
	}
}
