package agentauth

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"usher/venue/face"
	"usher/venue/visitors"
)

// Bounds of a page of capabilities.
const (
	defaultPage = 100
	maxPage     = 500
)

// offers are what the caller may see, with or without a JWT.
func (c *call) offers() ([]visitors.Offer, error) {
	if face.HasBearer(c.r) {
		if err := c.caller(); err != nil {
			return nil, err
		}
	}
	h := c.w.Header()
	h.Add("Vary", "Authorization")
	list, err := c.face.room.Offers(c.ctx(), c.by)
	if err == nil && c.by == nil {
		h.Set("Cache-Control", "public, max-age=300")
	} else if err == nil {
		h.Set("Cache-Control", "private, max-age=300")
	}
	return list, err
}

// shown is an offer without its schemas.
func shown(o *visitors.Offer, agent bool) map[string]any {
	out := map[string]any{"name": o.Name, "description": o.Description}
	if o.Location != "" {
		out["location"] = o.Location
	}
	if o.Approval != "" {
		out["approval_strength"] = o.Approval
	}
	if agent {
		out["grant_status"] = "not_granted"
		switch o.Status {
		case visitors.Active:
			out["grant_status"] = "granted"
		case visitors.Pending:
			out["grant_status"] = "pending"
		}
	}
	return out
}

func (c *call) list() error {
	q := c.r.URL.Query()
	limit, after, err := page(q)
	if err != nil {
		return err
	}
	all, err := c.offers()
	if err != nil {
		return err
	}
	out, next := []map[string]any{}, ""
	for i := range all {
		o := &all[i]
		if o.Name <= after && after != "" || !o.Matches(q.Get("query")) {
			continue
		}
		out = append(out, shown(o, c.by != nil && c.by.Agent != nil))
	}
	slices.SortFunc(out, func(a, b map[string]any) int { return strings.Compare(a["name"].(string), b["name"].(string)) })
	more := len(out) > limit
	if more {
		out = out[:limit]
		next = base64.RawURLEncoding.EncodeToString([]byte(cursorMark + out[limit-1]["name"].(string)))
	}
	answer := map[string]any{"capabilities": out, "has_more": more}
	if more {
		answer["next_cursor"] = next
	}
	return c.ok(answer)
}

// cursorMark begins a cursor: the name of the last capability of the page before.
const cursorMark = "after:"

// page reads the bounds of a page.
func page(q url.Values) (limit int, after string, err error) {
	limit = defaultPage
	if text := q.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 {
			return 0, "", invalid("limit is a number from 1 on")
		}
		limit = min(limit, maxPage)
	}
	if text := q.Get("cursor"); text != "" {
		raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
		name, ok := strings.CutPrefix(string(raw), cursorMark)
		if err != nil || !ok || name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			return 0, "", invalid("the cursor is none that a page of this list gave")
		}
		after = name
	}
	return limit, after, nil
}

func (c *call) describe() error {
	name := c.r.URL.Query().Get("name")
	if name == "" {
		return invalid("name is missing: say which capability")
	}
	all, err := c.offers()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(o visitors.Offer) bool { return o.Name == name })
	if i < 0 {
		c.w.Header().Del("Cache-Control")
		return &visitors.Refusal{Code: visitors.CapNotFound, Message: "there is no such capability, or you may not see it"}
	}
	o := &all[i]
	out := shown(o, c.by != nil && c.by.Agent != nil)
	if len(o.Input) > 0 {
		out["input"] = o.Input
	}
	if len(o.Output) > 0 {
		out["output"] = o.Output
	}
	c.write(http.StatusOK, out)
	return nil
}
