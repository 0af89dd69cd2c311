package caps_test

import (
	"testing"

	"usher/caps"
)

func TestSeenBy(t *testing.T) {
	const alice, bob = "did:key:zAlice", "did:key:zBob"
	for _, tc := range []struct {
		name, with, want string
	}{
		{"bare", "w/notes/", alice + "/w/notes/"},
		{"the whole namespace", "", alice},
		{"the reader's own", bob + "/w/a", "w/a"},
		{"the reader's whole namespace", bob, ""},
		{"a third one's", "did:key:zCarol/w", "did:key:zCarol/w"},
		{"a URI", "file://scratch/", "file://scratch/"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			written := caps.Of(caps.MustCapability(tc.with, "crud"))
			seen := written.AsSeenBy(bob, alice)
			if want := caps.Of(caps.MustCapability(tc.want, "crud")); !seen.Equal(want) {
				t.Errorf("%v of alice seen by bob = %v, want %v", written, seen, want)
			}
			if back := seen.AsSeenBy(alice, bob); tc.with != "" && tc.with != bob && !back.Equal(written) {
				t.Errorf("%v seen back = %v, want %v", seen, back, written)
			}
		})
	}
	if got := caps.Unrestricted().AsSeenBy(bob, alice); !got.IsUnrestricted() {
		t.Errorf("unrestricted seen by another = %v", got)
	}
	if got := (caps.Set{}).AsSeenBy(bob, alice); !got.IsEmpty() {
		t.Errorf("nothing seen by another = %v", got)
	}
}
