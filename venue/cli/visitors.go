package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"usher/ucan"
	"usher/venue"
	"usher/venue/visitors"
)

type visitorsCmd struct {
	List   visitorsListCmd   `cmd:"" reads:"" help:"List agents from elsewhere: whose they are, what was granted to them, and when they were heard of."`
	Show   visitorsShowCmd   `cmd:"" reads:"" help:"Show an agent from elsewhere, whole: each grant with its limits and its tokens."`
	Revoke visitorsRevokeCmd `cmd:"" help:"End an agent from elsewhere, some of its grants, or a host with all its agents, for good."`
}

type visitorsListCmd struct {
	onVenue
	Hosts bool   `help:"List the hosts, which are the programs that register agents." xor:"what"`
	Host  string `placeholder:"ID" help:"Only agents of this host." xor:"what"`
	All   bool   `help:"List those too that have ended."`
}

func (c *visitorsListCmd) Run(ctx context.Context, s *streams) error {
	return c.withVenue(ctx, s, func(v *venue.Venue, u *venue.User) error {
		room, who := v.Visitors(), u.DID()
		if c.Hosts {
			list, err := every(func(after string) ([]visitors.Host, string, error) { return room.Hosts(ctx, who, after) })
			if err != nil {
				return err
			}
			list = slices.DeleteFunc(list, func(h visitors.Host) bool { return !c.All && h.Status.IsFinal() })
			return printList(s, c.JSON, list, nobodyHere, []string{"HOST", "NAME", "STATUS", "FOR", "SINCE"}, func(h *visitors.Host) []string {
				return []string{h.ID, orDash(h.Name), string(h.Status), orDash(h.User.String()), s.stampOr(h.Created, "-")}
			})
		}
		list, err := every(func(after string) ([]visitors.AgentView, string, error) { return room.Agents(ctx, who, c.Host, after) })
		if err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(a visitors.AgentView) bool { return !c.All && a.Status.IsFinal() })
		header := []string{"AGENT", "NAME", "HOST", "FOR", "STATUS", "MAY", "USED", "UNTIL"}
		return printList(s, c.JSON, list, nobodyHere, header, func(a *visitors.AgentView) []string {
			return []string{a.ID, a.Name, cmp.Or(a.HostName, a.Host), person(a.User, who), string(a.Status), orDash(s.paint.line(mays(a), 80)), s.stampOr(a.Seen, "never"), s.stampOr(a.Expires, "-")}
		})
	})
}

const nobodyHere = "nobody is here from elsewhere: the section agentauth of the configuration says what agents may ask for"

// person is whom an agent acts for.
func person(did, who ucan.DID) string {
	if did == who {
		return "you"
	}
	return orDash(did.String())
}

func (s *streams) stampOr(ms int64, none string) string {
	if ms == 0 {
		return none
	}
	return s.minute(time.UnixMilli(ms))
}

// mays is what an agent may do, or asks for.
func mays(a *visitors.AgentView) string {
	var list []string
	for i := range a.Grants {
		if g := &a.Grants[i]; g.Status == visitors.Active || g.Status == visitors.Pending {
			list = append(list, grant(g))
		}
	}
	return strings.Join(list, "; ")
}

func grant(g *visitors.Grant) string {
	text := g.String()
	if g.Status != visitors.Active {
		text += " (" + string(g.Status) + ")"
	}
	return text
}

type visitorsShowCmd struct {
	onVenue
	ID string `arg:"" help:"The id of the agent."`
}

func (c *visitorsShowCmd) Run(ctx context.Context, s *streams) error {
	return c.withVenue(ctx, s, func(v *venue.Venue, u *venue.User) error {
		a, err := v.Visitors().FindFor(ctx, u.DID(), c.ID)
		if err != nil {
			return nobody(c.ID, err)
		}
		return s.answer(c.JSON, a, s.visitor(a, u.DID()))
	})
}

// nobody is an error of an id, which says where the ids stand that there are.
func nobody(id string, err error) error {
	of, refused := errors.AsType[*visitors.Refusal](err)
	if refused && (of.Code == visitors.AgentNotFound || of.Code == visitors.HostNotFound) {
		return misusef("nobody from elsewhere is %s: usher visitors list --all shows who is", id)
	}
	return err
}

// visitor is an agent as a person reads it.
func (s *streams) visitor(a *visitors.AgentView, who ucan.DID) string {
	rows := [][]string{
		{"agent", strings.TrimSpace(a.ID + " " + a.Name)},
		{"host", strings.TrimSpace(a.Host + " " + a.HostName)},
		{"status", string(a.Status) + ", " + a.Mode},
		{"for", person(a.User, who)},
	}
	rows = append(rows, fullRows([][]string{{"why", s.paint.line(a.Reason, 400)}})...)
	rows = append(rows, []string{"since", s.stampOr(a.Created, "-")}, []string{"used", s.stampOr(a.Seen, "never")}, []string{"until", s.stampOr(a.Expires, "-")}, []string{"key", a.Key.String()})
	for i := range a.Grants {
		g := &a.Grants[i]
		text := grant(g)
		if g.Expires > 0 {
			text += ", until " + s.minute(time.Unix(g.Expires, 0))
		}
		if !g.By.IsZero() {
			text += ", by " + person(g.By, who)
		}
		rows = append(rows, []string{"grant", text})
		for _, token := range g.Tokens {
			rows = append(rows, []string{"", token.String()})
		}
	}
	return s.columns(rows)
}

type visitorsRevokeCmd struct {
	onVenue
	ID         string    `arg:"" help:"The id of the agent, or of the host: then all its agents end, and it registers none again."`
	Capability onlyThese `placeholder:"NAME,..." help:"Of an agent, the grants of these capabilities alone."`
}

// revokeResult is what was revoked.
type revokeResult struct {
	Agent  string `json:"agent,omitempty"`
	Host   string `json:"host,omitempty"`
	Agents int    `json:"agents,omitempty"` // of the host
	Grants int    `json:"grants,omitempty"` // of the agent, where it goes on
}

func (c *visitorsRevokeCmd) Run(ctx context.Context, s *streams) error {
	return c.withVenue(ctx, s, func(v *venue.Venue, u *venue.User) error {
		done, text, err := c.revoke(ctx, v.Visitors(), u.DID())
		if err != nil {
			return nobody(c.ID, err)
		}
		return s.answer(c.JSON, done, text)
	})
}

func (c *visitorsRevokeCmd) revoke(ctx context.Context, room *visitors.Room, who ucan.DID) (done revokeResult, text string, err error) {
	if len(c.Capability) > 0 {
		a, n, err := room.RevokeGrants(ctx, nil, who, c.ID, c.Capability)
		if err != nil {
			return done, "", err
		}
		if n == 0 {
			return done, "", misusef("%s has no grant of %s: usher visitors show %s has those that it has", c.ID, strings.Join(c.Capability, ", "), c.ID)
		}
		return revokeResult{Agent: a.ID, Grants: n}, fmt.Sprintf("revoked %s of %s\n", many(n, "grant"), a.ID), nil
	}
	a, err := room.Revoke(ctx, nil, who, c.ID)
	if err == nil {
		return revokeResult{Agent: a.ID}, "revoked " + a.ID + "\n", nil
	}
	if of, refused := errors.AsType[*visitors.Refusal](err); !refused || of.Code != visitors.AgentNotFound {
		return done, "", err
	}
	h, n, err := room.RevokeHost(ctx, nil, who, c.ID)
	if err != nil {
		return done, "", err
	}
	return revokeResult{Host: h.ID, Agents: n}, fmt.Sprintf("revoked %s, with %s\n", h.ID, many(n, "agent")), nil
}
