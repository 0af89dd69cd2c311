package visit

import (
	"encoding/json"
	"fmt"
)

type object = map[string]any

// Outcomes of a step.
const (
	done    = "done"
	waits   = "waits"   // for a person
	denied  = "denied"  // by the agent's own venue, which sends nothing
	refused = "refused" // by the bank
)

// step is something that the agent or Alice does, and what came of it.
type step struct {
	Who  string `json:"who"`
	Does string `json:"does"`

	call  string // operation of the agent
	input object // its input, beside the server

	request string // of Alice, over HTTP
	body    object

	want, says string // the outcome, and a part of the words

	Outcome string          `json:"outcome"`
	Words   string          `json:"words,omitempty"` // of who refuses
	Result  json.RawMessage `json:"result,omitempty"`
}

// scene is a part of the story.
type scene struct {
	Title string `json:"title"`
	Steps []step `json:"steps"`
}

const (
	payer  = "payer"
	person = "alice"
)

// calls is a step of the agent.
func calls(does, operation string, input object) step {
	return step{Who: payer, Does: does, call: "agentauth_" + operation, input: input, want: done}
}

// answers is a step of Alice: what she approves of what waits.
func answers(does, action string, capabilities ...any) step {
	return step{
		Who: person, Does: does, request: "POST /agent/approve-capability",
		body: object{"action": action, "capabilities": capabilities}, want: done,
	}
}

func (s step) then(outcome, says string) step { s.want, s.says = outcome, says; return s }

func transfer(amount int) object {
	return object{"capability": "transfer", "arguments": object{"to": "Initech", "amount": amount}}
}

func upTo(amount int) object {
	return object{"name": "transfer", "constraints": object{"amount": object{"max": amount}}}
}

func pays(amount int) step {
	return calls(fmt.Sprintf("transfers %d to Initech", amount), "execute", transfer(amount))
}

func tell() []scene {
	return []scene{
		{"The agent finds the bank, and asks", []step{
			calls("asks the bank what it is", "discover", nil),
			calls("looks at what anybody may see", "list", nil),
			calls("asks for balance, and to transfer up to 500", "register",
				object{"capabilities": []any{object{"name": "balance"}, upTo(500)}, "reason": "to pay the bills of Acme"}).then(waits, ""),
			calls("reads the balance before it may", "execute", object{"capability": "balance"}).then(refused, "agent_pending"),
		}},
		{"Alice approves less than it asked for", []step{
			answers("approves balance, and to transfer up to 100", "approve", "balance", upTo(100)),
			calls("asks how it stands", "status", nil),
		}},
		{"It works within that, and is refused beyond", []step{
			calls("reads the balance", "execute", object{"capability": "balance"}),
			pays(80),
			pays(400).then(refused, "constraint_violated"),
			calls("opens the statement, which it was not granted", "execute", object{"capability": "statement"}).then(refused, "capability_not_granted"),
			calls("closes the account, which Acme does not let it", "execute", object{"capability": "close_account"}).then(denied, "Capability denied"),
		}},
		{"It asks for more", []step{
			calls("asks to transfer up to 500", "request", object{"capabilities": []any{upTo(500)}, "reason": "Initech has sent a bill of 400"}).then(waits, ""),
			pays(400).then(refused, "constraint_violated"),
			answers("approves it", "approve", upTo(500)),
			pays(400),
		}},
		{"Alice revokes it", []step{
			{Who: person, Does: "revokes the agent", request: "POST /agent/revoke", body: object{}, want: done},
			calls("reads the balance", "execute", object{"capability": "balance"}).then(refused, "agent_revoked"),
			pays(1).then(refused, "agent_revoked"),
		}},
	}
}
