package auth

import (
	"slices"

	"usher/tools/fault"
	"usher/ucan"
)

// isGuest reports whether a principal has a key that is neither the venue's nor known to it.
func (r *Room) isGuest(did ucan.DID) bool {
	return !r.Keys.Hosts(did) && did != r.Keys.Venue().DID() && !slices.Contains(r.Auth.Known, did.String())
}

var errGuestAgents = fault.New(fault.Refused, "your key is not known to this venue: guests have no agents here, as these ask its models. Have the key listed under auth.known in its configuration")

// MayHaveAgents reports why a principal's agents do not work here; nil where they may.
func (r *Room) MayHaveAgents(owner ucan.DID) error {
	if !r.Auth.Guests.Agents && r.isGuest(owner) {
		return errGuestAgents
	}
	return nil
}

var errGuestReach = fault.New(fault.Refused, "your key is not known to this venue: it reaches nothing elsewhere for guests. Have the key listed under auth.known in its configuration")

// MayReach reports why the venue asks no server elsewhere for a principal and its agents; nil
// where it does. For a guest it does where guests have agents.
func (r *Room) MayReach(owner ucan.DID) error {
	if r.MayHaveAgents(owner) != nil {
		return errGuestReach
	}
	return nil
}

// admit returns the identity of a principal who has proved a key, or says why guests are none.
func (r *Room) admit(id *Identity) (*Identity, error) {
	did := id.Authority.Owner()
	if id.Guest = r.isGuest(did); id.Guest && r.Auth.Guests.Refused {
		return nil, refuse("%s is not known to this venue, which lets no guests in: have the key listed under auth.known in its configuration", did)
	}
	return id, nil
}
