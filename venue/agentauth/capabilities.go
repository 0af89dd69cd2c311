package agentauth

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"usher/tools/agentauth/client"
	"usher/venue/face"
	"usher/venue/visitors"
)

// Bounds of a page of capabilities.
const (
	defaultPage = 100
	maxPage     = 500
)

// offers are what the caller may see, with or without a JWT.
func (c *call) offers() ([]client.Capability, error) {
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

// matches reports whether a capability has all words of a query in its name or description.
func matches(o *client.Capability, query string) bool {
	text := strings.ToLower(o.Name + " " + o.Description)
	for word := range strings.FieldsSeq(strings.ToLower(query)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
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
	out := client.Page{Capabilities: []client.Capability{}}
	for _, o := range all {
		if o.Name > after && matches(&o, q.Get("query")) {
			o.Input, o.Output = nil, nil
			out.Capabilities = append(out.Capabilities, o)
		}
	}
	slices.SortFunc(out.Capabilities, func(a, b client.Capability) int { return strings.Compare(a.Name, b.Name) })
	if out.HasMore = len(out.Capabilities) > limit; out.HasMore {
		out.Capabilities = out.Capabilities[:limit]
		out.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(cursorMark + out.Capabilities[limit-1].Name))
	}
	return c.ok(out)
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
	i := slices.IndexFunc(all, func(o client.Capability) bool { return o.Name == name })
	if i < 0 {
		c.w.Header().Del("Cache-Control")
		return &visitors.Refusal{Code: visitors.CapNotFound, Message: "there is no such capability, or you may not see it"}
	}
	return c.ok(all[i])
}
