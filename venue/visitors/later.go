package visitors

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"usher/ucan"
)

// Rows are below which keys of the whole store [CarryOver] looks at rows.
var Rows = []string{hostKey(""), agentKey(""), thumbKey("")}

// CarryOver says what becomes of hosts and agents where a folder is taken back to a moment, by their
// rows then and now: which has ended since, or has another key, is as it is now, and which was
// forgotten is not there. A host that was revoked stays so also where it came later.
func CarryOver(then, now map[string][]byte) (put map[string][]byte, del []string, err error) {
	put = make(map[string][]byte)
	stays := make(map[string]bool) // "host <id>" and "agent <id>"
	for _, key := range slices.Sorted(maps.Keys(then)) {
		if _, is := now[key]; !is && !strings.HasPrefix(key, thumbKey("")) {
			del = append(del, key)
		}
	}
	for _, kind := range []string{"host", "agent"} { // an agent goes with its host
		below := prefix + kind + "/"
		for key, raw := range now {
			id, of := strings.CutPrefix(key, below)
			if !of {
				continue
			}
			var was, is struct {
				Key    ucan.DID
				Status Status
				Host   string
			}
			old := then[key]
			err := json.Unmarshal(raw, &is)
			if err == nil && old != nil {
				err = json.Unmarshal(old, &was)
			}
			switch {
			case err != nil:
				return nil, nil, fmt.Errorf("read %s: %w", key, err)
			case old == nil && (kind != "host" || is.Status != Revoked), is.Host != "" && !stays["host "+is.Host]:
				continue
			case is.Status.IsFinal() || is.Key != was.Key:
				put[key] = raw
			}
			stays[kind+" "+id] = true
		}
	}
	for key, raw := range now {
		if strings.HasPrefix(key, thumbKey("")) && stays[string(raw)] {
			put[key] = raw
		}
	}
	return put, del, nil
}
