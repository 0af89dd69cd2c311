package delegation

import (
	"encoding/json"
	"fmt"
)

// report is what the demo prints, and with --json what it is as data: DIDs,
// CIDs and words in full.
type report struct {
	Cast      []member   `json:"cast"`
	Chains    [][]linked `json:"chains"` // root first
	Told      string     `json:"told"`   // the carrier's model, on what is delegated to it
	Work      []tried    `json:"work"`
	Widenings []tried    `json:"widenings"`
	Signed    struct {
		Before int `json:"before"`
		After  int `json:"after"`
	} `json:"signed"` // tokens of the agents, before and after the widenings
	Revocation []tried `json:"revocation"`
	ToldAfter  struct {
		Carrier string `json:"carrier"`
		Auditor string `json:"auditor"`
	} `json:"toldAfter"`
	Kept       []kept   `json:"kept"`
	Ledger     ledger   `json:"ledger"`
	Unexpected []string `json:"unexpected"`
}

// tried is a step and what came of it.
type tried struct {
	Agent   string          `json:"agent"`
	Does    string          `json:"does"`
	Tool    string          `json:"tool"`
	Input   json.RawMessage `json:"input"`
	Outcome string          `json:"outcome"`
	Words   string          `json:"words,omitempty"`  // of a refusal
	Result  json.RawMessage `json:"result,omitempty"` // of a call that was allowed

	step step
}

func (r *report) unexpected(format string, args ...any) {
	r.Unexpected = append(r.Unexpected, fmt.Sprintf(format, args...))
}
