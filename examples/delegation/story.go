package delegation

import (
	"encoding/json"
	"fmt"
	"strings"

	"usher/tools"
	"usher/ucan"
)

// Outcomes of a step.
const (
	allowed = "allowed"
	denied  = "denied"  // by the gate
	refused = "refused" // by the operation, which signs nothing
)

// step is one tool call that an agent is told to make, and what came of it.
// Principals go by their names in braces, resources by {OWNER}/PATH.
type step struct {
	Agent  string `json:"agent"`
	Does   string `json:"does"` // for people
	say    string // the instruction
	want   string
	why    error // of a refusal: the gate's stands in the ledger, and is told to nobody who is denied
	during bool  // it is part of the turn that the step before is in, or happens in it where it is another's

	Outcome string              `json:"outcome"`
	Words   string              `json:"words,omitempty"`  // of a refusal
	Result  json.RawMessage     `json:"result,omitempty"` // of a call that was allowed
	Row     uint64              `json:"row,omitempty"`    // of the ledger, with what follows
	Needs   []tools.Requirement `json:"needs,omitempty"`
	Reason  string              `json:"reason,omitempty"`
}

func (s step) wantDenial(why error) step  { s.want, s.why = denied, why; return s }
func (s step) wantRefusal(why error) step { s.want, s.why = refused, why; return s }
func (s step) inTurn() step               { s.during = true; return s }

func does(agent, what, say string) step {
	return step{Agent: agent, Does: what, say: say, want: allowed}
}

// link is one delegation: from hands ability can on a resource to another.
type link struct{ from, to, can, on, life string }

func (l link) input() string {
	return fmt.Sprintf(`{"audience":"{%s}","capabilities":[{"with":%q,"can":%q}],"ttl":%q}`, l.to, l.on, l.can, l.life)
}

func (l link) owner() string {
	owner, _, _ := strings.Cut(strings.TrimPrefix(l.on, "{"), "}")
	return owner
}

func handOn(what string, l link) step { return does(l.from, what, "call ucan_delegate "+l.input()) }

// revokes ends one of the story's links.
func revokes(agent, what string, link int) step {
	return does(agent, what, fmt.Sprintf(`call ucan_revoke {"cid":"{link %d}"}`, link))
}

// member is one of the principals.
type member struct {
	Name  string `json:"name"`
	Owner string `json:"owner,omitempty"` // of an agent
	Role  string `json:"role"`
	DID   string `json:"did"`
}

// scene is a part of the story, with what comes of it.
type scene struct {
	Title string `json:"title"`
	Steps []step `json:"steps"`
}

// story is all that happens.
type story struct {
	cast   []member
	had    [][3]string // owner, path and value of what lies there at first
	links  []link
	leaves []int // of links, the ends of the chains
	scenes []scene
}

// Indexes of the story's links and scenes.
const (
	toBroker = iota
	toCarrier
	toAuditor
	fromBob

	work = iota - 4
	widen
	end
)

const (
	shipments = "{alice}/w/shipments/"
	shipment  = shipments + "S-1042"
	sibling   = shipments + "S-1043"
	status    = shipment + "/status"
	trip      = "{bob}/w/trips/S-1042"
	rates     = "{bob}/w/rates"
	loaded    = "loaded on truck 7"
)

func tell() story {
	return story{
		cast: []member{
			{Name: "alice", Role: "ships goods"},
			{Name: "bob", Role: "runs trucks"},
			{Name: "broker", Owner: "alice", Role: "finds carriers"},
			{Name: "carrier", Owner: "bob", Role: "carries"},
			{Name: "auditor", Owner: "bob", Role: "checks"},
		},
		had: [][3]string{
			{"alice", "w/shipments", `{"S-1042":{"goods":"tea, 12 pallets","status":"packed"},"S-1043":{"goods":"coffee, 3 pallets","status":"packed"}}`},
			{"bob", "w/rates", `{"tea":410,"coffee":455}`},
		},
		links: []link{
			toBroker:  {"alice", "broker", "crud", shipments, "72h"},
			toCarrier: {"broker", "carrier", "crud", shipment, "24h"},
			toAuditor: {"carrier", "auditor", "crud/read", status, "1h"},
			fromBob:   {"bob", "carrier", "crud", "{bob}/w/trips", "72h"},
		},
		leaves: []int{toAuditor, fromBob},
		scenes: []scene{
			work: {"They work in the namespaces of others", []step{
				does("carrier", "copies alice's S-1042 to bob's trips", "copy "+shipment+" "+trip),
				does("carrier", "sets S-1042 to "+loaded, "write "+status+" "+loaded),
				does("carrier", "reads the next shipment", "read "+sibling).wantDenial(ucan.ErrNotCovered),
				does("carrier", "reads its own owner's rates", "read "+rates).wantDenial(ucan.ErrNotCovered),
				does("auditor", "writes what it may read", "write "+status+" lost").wantDenial(ucan.ErrNotCovered),
			}},
			widen: {"They hand on more than they hold: refused before anything is signed", []step{
				handOn("hands the auditor all shipments, and holds one", link{"carrier", "auditor", "crud/read", shipments, "1h"}).wantRefusal(ucan.ErrNotHeld),
				handOn("hands the auditor 48 hours, and holds 24", link{"carrier", "auditor", "crud/read", status, "48h"}).wantRefusal(ucan.ErrTimeBounds),
				handOn("hands bob writing, and holds reading", link{"auditor", "bob", "crud", status, "30m"}).wantRefusal(ucan.ErrNotHeld),
			}},
			end: {"The middle link is revoked while the auditor reads twice in one turn", []step{
				does("auditor", "reads the status", "read "+status),
				revokes("broker", "revokes its link to the carrier", toCarrier).inTurn(),
				does("auditor", "reads it again", "read "+status).wantDenial(ucan.ErrRevoked).inTurn(),
				does("carrier", "sets S-1042 to delivered", "write "+status+" delivered").wantDenial(ucan.ErrRevoked),
				does("carrier", "notes the driver in bob's trip", "write "+trip+"/driver Ines"),
				does("broker", "reads the status", "read "+status),
			}},
		},
	}
}
