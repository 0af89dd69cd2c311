package cli

import (
	"testing"

	"pgregory.net/rapid"

	"usher/caps"
)

// Whatever one set covers and another does not has a witness, and each witness is one.
func TestWitnesses(t *testing.T) {
	set := rapid.Custom(func(t *rapid.T) caps.Set {
		capability := rapid.Custom(func(t *rapid.T) caps.Capability {
			with := rapid.SampledFrom([]string{"w/", "w/a", "w/a/b", "w/b/", "o/", "g/", "g/x", "s/KEY", "j/", "file://scratch/a", "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK/w/a"}).Draw(t, "with")
			can := rapid.SampledFrom([]string{"crud", "crud/read", "crud/write", "agent", "agent/message", "secret/decrypt", "invoke", "paint/red"}).Draw(t, "can")
			return caps.MustCapability(with, can)
		})
		return caps.Of(rapid.SliceOfN(capability, 0, 4).Draw(t, "caps")...)
	})
	rapid.Check(t, func(t *rapid.T) {
		from, to := set.Draw(t, "from"), set.Draw(t, "to")
		list := witnesses(from, to, to)
		if (len(list) == 0) != from.Covers(to) {
			t.Fatalf("from %s to %s has the witnesses %v", from, to, list)
		}
		for _, w := range list {
			r := caps.Need(w.Ability, w.Resource)
			if w.Resource == "" {
				r = caps.NeedAbility(w.Ability)
			}
			if !to.Check(r).IsAllowed() || from.Check(r).IsAllowed() {
				t.Fatalf("from %s to %s has the witness %s, which is none", from, to, w)
			}
		}
	})
	if list := witnesses(caps.Set{}, caps.Unrestricted(), caps.Unrestricted()); len(list) != maxWitnesses {
		t.Errorf("all that there is has the witnesses %v", list)
	}
}
