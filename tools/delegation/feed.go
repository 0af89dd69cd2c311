package delegation

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"usher/tools"
	"usher/tools/fault"
	"usher/ucan"
)

// maxFeed is how many revocations a page of the feed has at most.
const maxFeed = 1000

// feedQuery asks for a page of the feed.
type feedQuery struct {
	After string `json:"after,omitempty" jsonschema:"the cursor that the page before returned; left out, from the first on"`
	Limit int    `json:"limit,omitempty" jsonschema:"the most revocations to return: 1 to 1000, left out 100"`
}

// feed is a page of the feed. Each revocation is signed by who revoked: it can be believed
// wherever it comes from, and ucan:import takes it.
type feed struct {
	Revocations []string `json:"revocations"` // signed, in base64url multibase
	Cursor      string   `json:"cursor"`      // where to go on, also later
	More        bool     `json:"more"`        // there may be more now
}

func (d *Desk) feed(ctx context.Context, _ tools.Call, q feedQuery) (out feed, err error) {
	var after uint64
	if q.After != "" {
		if after, err = strconv.ParseUint(q.After, 10, 63); err != nil {
			return out, fault.New(fault.InvalidInput, "after is no cursor that a page returned: "+ucan.ErrCursor.Error())
		}
	}
	limit := cmp.Or(q.Limit, 100)
	list, next, err := d.Verifier.Store.Feed(ctx, after, limit)
	if errors.Is(err, ucan.ErrCursor) {
		return out, fault.New(fault.InvalidInput, err.Error())
	}
	if err != nil {
		return out, err
	}
	out = feed{Revocations: make([]string, len(list)), Cursor: strconv.FormatUint(next, 10), More: len(list) == limit}
	for i, r := range list {
		out.Revocations[i] = r.Text()
	}
	return out, nil
}
