package apply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"usher/caps/value"
	"usher/tools/workspace"
	"usher/venue/config"
)

// Leftover is an entry of the configuration's data that was not written, because
// what is stored there is somebody else's by now.
type Leftover struct {
	Path  string
	Why   string // "was changed here since the configuration was applied"
	Below string // path of what is in its way; "" where nothing is
}

// String says so in a sentence, and what to do.
func (k Leftover) String() string {
	text := k.Path + " " + k.Why + "; what the configuration says now was not written: "
	if k.Below != "" {
		return text + "delete " + k.Below + ", or take the entry out"
	}
	return text + "write it there yourself, or take the entry out"
}

// dataNote is what is remembered of an entry of data, as digests: what it was
// when it was written last, and what is about to be written. Either may be "".
type dataNote struct {
	Value string `json:"value,omitempty"`
	Next  string `json:"next,omitempty"`
}

// datum writes an entry that is not what it was when it was applied last,
// unless somebody else has been at what is stored there.
//
// What is about to be written is remembered before it is written. So, after a
// crash between writing and remembering, what is stored is known for the
// configuration's own, also when the entry has changed once more.
func (r *room) datum(ctx context.Context, d config.Datum) error {
	note := noteData + d.Path
	want, err := digest(workspace.Unwrap(d.Value))
	if err != nil {
		return err
	}
	var last dataNote
	raw, err := r.note(ctx, note)
	if err == nil && raw != nil {
		err = json.Unmarshal(raw, &last)
	}
	if err != nil || last == (dataNote{Value: want}) {
		return err
	}
	stored, err := r.digestAt(ctx, d.Path)
	if err != nil {
		return err
	}
	if last.Next != "" && stored == last.Next {
		last.Value = last.Next
	}
	kept := Leftover{Path: d.Path}
	switch {
	case stored == want:
		return r.rememberDatum(ctx, note, dataNote{Value: want})
	case stored == last.Value: // as it was left, or nothing where nothing was
		if err := r.rememberDatum(ctx, note, dataNote{last.Value, want}); err != nil {
			return err
		}
		_, err := r.user.Invoke(ctx, "covia:write", map[string]any{"path": d.Path, "value": d.Value})
		other, inTheWay := errors.AsType[*workspace.InTheWayError](err)
		if err == nil {
			return r.rememberDatum(ctx, note, dataNote{Value: want})
		}
		if !inTheWay {
			return err
		}
		kept.Below, kept.Why = other.At, "has "+other.At+" in its way, which is a "+other.Type
	case stored == "":
		kept.Why = "was deleted here since the configuration was applied"
	case last.Value == "":
		kept.Why = "held something else before the configuration was applied"
	default:
		kept.Why = "was changed here since the configuration was applied"
	}
	r.out.Kept = append(r.out.Kept, kept)
	return nil
}

func (r *room) rememberDatum(ctx context.Context, note string, a dataNote) error {
	raw, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return r.remember(ctx, note, raw)
}

// largestStored is the most that covia:read returns, in bytes. A configuration's
// value is not larger.
const largestStored = 16 << 20

// digestAt is the digest of what is stored at the path, or "".
func (r *room) digestAt(ctx context.Context, path string) (string, error) {
	var there struct {
		Exists, Truncated bool
		Value             json.RawMessage
	}
	err := r.ask(ctx, "covia:read", map[string]any{"path": path, "maxSize": largestStored}, &there)
	if err != nil || !there.Exists {
		return "", err
	}
	const others = "others" // what is too large or too deep for a configuration to have written it
	if there.Truncated {
		return others, nil
	}
	if stored, err := digest(there.Value); err == nil {
		return stored, nil
	}
	return others, nil
}

// digest is a digest of a value as it is stored, whatever the order of its keys.
// Numbers count as they are written.
func digest(raw json.RawMessage) (string, error) {
	v, err := value.Decode(raw, value.MaxDepth)
	if err != nil {
		return "", fmt.Errorf("value: %w", err)
	}
	sum := sha256.Sum256(value.Append(nil, v))
	return hex.EncodeToString(sum[:]), nil
}
