package tools

import (
	"context"
	"strings"

	"usher/caps"
	"usher/ucan"
)

// Life names one life of an agent: "<owner DID>/<id>#<life>". An id can be
// taken again by another agent; a life cannot. The empty Life is nobody.
type Life string

// NewLife returns the name of a life of the agent id, which owner created.
func NewLife(owner ucan.DID, id, life string) Life {
	return Life(owner.String() + "/" + id + "#" + life)
}

// Agent is the id of the agent.
func (l Life) Agent() string {
	_, rest, _ := strings.Cut(string(l), "/")
	id, _, _ := strings.Cut(rest, "#")
	return id
}

// Owner is the DID of the principal whose agent it is, as a text.
func (l Life) Owner() string {
	owner, _, _ := strings.Cut(string(l), "/")
	return owner
}

// Lives knows what the agents of a venue may do at this moment. The gate asks it
// at every call. Its methods are fast, and safe for concurrent use.
type Lives interface {
	// Epoch is another number after every change of authority: of capabilities,
	// lineage, authorship, tokens, keys, and at every suspension and every end.
	Epoch() uint64
	// Live returns the effective capabilities of a life, those of its creators
	// counted, as the principal writes them as whom the agent acts. It is the empty
	// set for a life that is suspended, has ended, or is not known.
	Live(ctx context.Context, life Life) (set caps.Set, principal ucan.DID)
}

// nobodyLives is the source of a gate that knows no agents.
type nobodyLives struct{}

func (nobodyLives) Epoch() uint64 { return 0 }
func (nobodyLives) Live(context.Context, Life) (caps.Set, ucan.DID) {
	return caps.Set{}, ucan.DID{}
}
