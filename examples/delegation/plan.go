package delegation

import (
	"fmt"
	"strings"

	"usher/ucan"
)

// plan is the story as data. Principals go by their names; a resource is
// OWNER/PATH. What an agent is told has its DIDs as {NAME}.
type plan struct {
	links  []link
	work   []step
	widen  []step // tries to hand on more than is held
	watch  []step // one turn of one agent
	revoke int    // the link, an agent's, that is revoked after the first step of watch; -1 is none
	after  []step
	kept   []kept // what is stored in the end
}

// link is one delegation: from hands ability can on a resource to another.
type link struct{ from, to, can, on, life string }

func (l link) input() string {
	return fmt.Sprintf(`{"audience":"{%s}","capabilities":[{"with":%q,"can":%q}],"ttl":%q}`, l.to, braced(l.on), l.can, l.life)
}

// step is one tool call that an agent is told to make, and what must come of it.
type step struct {
	agent, does string // for people
	say         string // the instruction
	needs       []need // what the gate must ask for; none where the ledger's table leaves it out
	want        string
	why         []error // of a refusal
}

type need struct{ can, on string }

// Outcomes of a step.
const (
	allowed = "allowed"
	denied  = "denied"  // by the gate
	refused = "refused" // by the operation, which signs nothing
)

func read(agent, does, at string) step {
	return step{agent, does, "read " + braced(at), []need{{"crud/read", at}}, allowed, nil}
}

func write(agent, does, at, value string) step {
	return step{agent, does, "write " + braced(at) + " " + value, []need{{"crud/write", at}}, allowed, nil}
}

func duplicate(agent, does, from, to string) step {
	return step{agent, does, "copy " + braced(from) + " " + braced(to), []need{{"crud/read", from}, {"crud/write", to}}, allowed, nil}
}

func handOn(does string, l link) step {
	return step{l.from, does, "call ucan_delegate " + l.input(), nil, allowed, nil}
}

// denied says that the gate denies the step, and the reason in the ledger.
func (s step) denied(why ...error) step {
	s.want, s.why = denied, why
	return s
}

// refused says that the operation refuses the step, and the reason that it gives.
func (s step) refused(why ...error) step {
	s.want, s.why = refused, why
	return s
}

// braced marks the owner of a resource as a name.
func braced(on string) string {
	owner, path, _ := strings.Cut(on, "/")
	return "{" + owner + "}/" + path
}

func ownerOf(on string) string {
	owner, _, _ := strings.Cut(on, "/")
	return owner
}

// kept is a value that must be stored in the end.
type kept struct {
	On    string `json:"on"`
	Value string `json:"value"`
}

const (
	shipments = "alice/w/shipments/"
	shipment  = shipments + "S-1042"
	sibling   = shipments + "S-1043"
	status    = shipment + "/status"
	trips     = "bob/w/trips/"
	trip      = trips + "S-1042"
	rates     = "bob/w/rates"
	loaded    = "loaded on truck 7"
)

// Indexes of the story's links.
const (
	toBroker = iota
	toCarrier
	toAuditor
	fromBob
)

func story() plan {
	return plan{
		links: []link{
			toBroker:  {"alice", "broker", "crud", shipments, "72h"},
			toCarrier: {"broker", "carrier", "crud", shipment, "24h"},
			toAuditor: {"carrier", "auditor", "crud/read", status, "1h"},
			fromBob:   {"bob", "carrier", "crud", trips, "72h"},
		},
		work: []step{
			duplicate("carrier", "copies alice's S-1042 to bob's trips", shipment, trip),
			write("carrier", "sets S-1042 to "+loaded, status, loaded),
			read("carrier", "reads the next shipment", sibling).denied(ucan.ErrNotCovered),
			read("carrier", "reads its own owner's rates", rates).denied(ucan.ErrNotCovered),
			write("auditor", "writes what it may read", status, "lost").denied(ucan.ErrNotCovered),
		},
		widen: []step{
			handOn("hands the auditor all shipments, and holds one", link{"carrier", "auditor", "crud/read", shipments, "1h"}).refused(ucan.ErrNotHeld, ucan.ErrNotCovered),
			handOn("hands the auditor 48 hours, and holds 24", link{"carrier", "auditor", "crud/read", status, "48h"}).refused(ucan.ErrNotHeld, ucan.ErrTimeBounds),
			handOn("hands bob writing, and holds reading", link{"auditor", "bob", "crud", status, "30m"}).refused(ucan.ErrNotHeld, ucan.ErrNotCovered),
		},
		watch: []step{
			read("auditor", "reads the status", status),
			read("auditor", "reads it again", status).denied(ucan.ErrRevoked),
		},
		revoke: toCarrier,
		after: []step{
			write("carrier", "sets S-1042 to delivered", status, "delivered").denied(ucan.ErrRevoked),
			write("carrier", "notes the driver in bob's trip", trip+"/driver", "Ines"),
			read("broker", "reads the status", status),
		},
		kept: []kept{
			{status, loaded}, {sibling + "/status", "packed"}, {trip + "/goods", "tea, 12 pallets"}, {trip + "/driver", "Ines"},
		},
	}
}
