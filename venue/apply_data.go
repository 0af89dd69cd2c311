package venue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"usher/tools/workspace"
	"usher/venue/config"
)

// Kept is an entry of the configuration's data that was not written, because
// what is stored there is somebody else's by now.
type Kept struct {
	Path  string
	Why   string // "was changed here since the configuration was applied"
	Below string // path of what is in its way; "" where nothing is
}

// String says so in a sentence, and what to do.
func (k Kept) String() string {
	text := k.Path + " " + k.Why + "; what the configuration says now was not written: "
	if k.Below != "" {
		return text + "delete " + k.Below + ", or take the entry out"
	}
	return text + "write it there yourself, or take the entry out"
}

// Why an entry was kept.
const (
	keptChanged = "was changed here since the configuration was applied"
	keptDeleted = "was deleted here since the configuration was applied"
	keptBefore  = "held something else before the configuration was applied"
	keptUnknown = "is not what the configuration says, and an older version did not note what it wrote"
)

// Kept returns the entries of the configuration's data that were not written,
// since others have changed or deleted what was there.
func (v *Venue) Kept() []Kept { return v.kept }

// applied is what is remembered of an entry of data, as digests: what it was
// when it was written last, and what is about to be written. Either may be "".
type applied struct {
	Value string `json:"value,omitempty"`
	Next  string `json:"next,omitempty"`
}

// unknownValue stands for a value that was not remembered. No digest is like it.
const unknownValue = "?"

// applyDatum writes an entry that is not what it was when it was applied last,
// unless somebody else has been at what is stored there.
//
// What is about to be written is remembered before it is written. So, after a
// crash between writing and remembering, what is stored is known for the
// configuration's own, also when the entry has changed once more.
func (v *Venue) applyDatum(ctx context.Context, u *User, d config.Datum) error {
	key := u.DID().String() + "/data/" + d.Path
	want, err := valueDigest(workspace.Unwrapped(d.Value))
	if err != nil {
		return err
	}
	last, err := v.lastApplied(ctx, key)
	if err != nil || last == (applied{Value: want}) {
		return err
	}
	stored, err := u.storedDigest(ctx, d.Path)
	if err != nil {
		return err
	}
	if last.Next != "" && stored == last.Next {
		last.Value = last.Next
	}
	switch {
	case stored == want:
	case stored == last.Value: // as it was left, or nothing where nothing was
		if err := v.remember(ctx, key, applied{last.Value, want}); err != nil {
			return err
		}
		_, err := u.Invoke(ctx, "covia:write", map[string]any{"path": d.Path, "value": d.Value})
		if other, ok := errors.AsType[*workspace.InTheWayError](err); ok {
			v.kept = append(v.kept, Kept{d.Path, "has " + other.At + " in its way, which is a " + other.Type, other.At})
			return nil
		}
		if err != nil {
			return err
		}
	case last.Value == unknownValue:
		v.kept = append(v.kept, Kept{Path: d.Path, Why: keptUnknown}) // once: from here on it is known
	default:
		v.kept = append(v.kept, Kept{Path: d.Path, Why: keptWhy(last.Value, stored)})
		return nil
	}
	return v.remember(ctx, key, applied{Value: want})
}

func keptWhy(last, stored string) string {
	switch {
	case stored == "":
		return keptDeleted
	case last == "":
		return keptBefore
	}
	return keptChanged
}

func (v *Venue) remember(ctx context.Context, key string, a applied) error {
	raw, err := json.Marshal(a)
	if err != nil {
		return err
	}
	_, err = v.store.Under("c/").Apply(ctx, nil, map[string][]byte{key: raw}, nil)
	return err
}

func (v *Venue) lastApplied(ctx context.Context, key string) (applied, error) {
	raw, _, err := v.store.Under("c/").Get(ctx, key)
	if err != nil || raw == nil {
		return applied{}, err
	}
	var a applied
	if bytes.Equal(raw, []byte("written")) { // as stores had it that wrote data once
		return applied{Value: unknownValue}, nil
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return applied{}, fmt.Errorf("read what was applied: %w", err)
	}
	return a, nil
}

// largestStored is the most that covia:read returns, in bytes. A configuration's
// value is not larger.
const largestStored = 16 << 20

// storedDigest is the digest of what is stored at the path, or "".
func (u *User) storedDigest(ctx context.Context, path string) (string, error) {
	out, err := u.Invoke(ctx, "covia:read", map[string]any{"path": path, "maxSize": largestStored})
	if err != nil {
		return "", err
	}
	var there struct {
		Exists, Truncated bool
		Value             json.RawMessage
	}
	if err := json.Unmarshal(out, &there); err != nil || !there.Exists {
		return "", err
	}
	if there.Truncated {
		return "too large", nil // for a configuration to have written it
	}
	return valueDigest(there.Value)
}
