package server_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"usher/tools/lending"
	"usher/venue"
)

// held is a capability in somebody's hands, as the test knows it: what a thing is of, by its
// text, which tells one thing from another.
type held struct {
	lending.Capability
	by *venue.Principal
	of map[string]string // names by handles
}

// No sequence of requests, attenuations and handing over reaches a thing or an operation
// outside of what was lent first, and no two capabilities share a handle.
func TestNothingWidens(t *testing.T) {
	p := lends(t, "")
	them, err := p.venue.User(t.Context(), "sub")
	if err != nil {
		t.Fatal(err)
	}
	people := []*venue.Principal{p.alice, them}
	texts := map[string]string{"Q1 Sales Report": "Q1 Sales Report", "Q1 Financial Summary": "Q1 Financial Summary", "Q2": "Q2"}
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		var all []*held
		seen := map[string]bool{}
		take := func(raw json.RawMessage, by *venue.Principal, within *held) {
			var list lending.Capabilities
			if err := json.Unmarshal(raw, &list); err != nil {
				t.Fatal(err)
			}
			for _, c := range list.Capabilities {
				h := &held{c, by, map[string]string{}}
				for _, of := range c.Handles {
					if seen[of.Handle] {
						t.Errorf("%s is of two capabilities", of.Handle)
					}
					seen[of.Handle], h.of[of.Handle] = true, of.Name
					if within != nil && !slices.ContainsFunc(within.Handles, func(o lending.Handle) bool { return o.Name == of.Name }) {
						t.Errorf("%s was not in what it was made of", of.Name)
					}
				}
				for _, op := range c.Operations {
					if within != nil && !slices.Contains(within.Operations, op) {
						t.Errorf("%s was not in what it was made of", op)
					}
				}
				all = append(all, h)
			}
		}
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			by := rapid.SampledFrom(people).Draw(t, "by")
			switch step := rapid.IntRange(0, 3).Draw(t, "step"); {
			case step == 0 || len(all) == 0:
				q := &lending.Query{Collection: rapid.SampledFrom([]string{"reports", "", "private/..", "../mail", "reports/q2"}).Draw(t, "collection")}
				if rapid.Bool().Draw(t, "filtered") {
					q.Filter = map[string]json.RawMessage{"quarter": json.RawMessage(`"2025-Q1"`)}
				}
				raw, err := by.Invoke(ctx, "capability:request", lending.Request{Grants: []string{"documents:read"}, Purpose: "x", Query: q})
				if err == nil {
					take(raw, by, nil)
				}
			case step == 1:
				from := rapid.SampledFrom(all).Draw(t, "from")
				in := lending.Attenuate{CapabilityID: from.ID, Holder: rapid.SampledFrom([]string{"", people[0].DID().String(), people[1].DID().String()}).Draw(t, "holder")}
				ops := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"retrieve", "search", "delete", "*"}), 0, 3, rapid.ID).Draw(t, "operations")
				in.Constraints.Operations = &ops
				var handles []string
				for _, h := range rapid.SampledFrom(all).Draw(t, "handles of").Handles {
					if rapid.Bool().Draw(t, "handle") {
						handles = append(handles, h.Handle)
					}
				}
				in.Constraints.ResourceHandles = &handles
				raw, err := by.Invoke(ctx, "capability:attenuate", in)
				if err != nil {
					continue
				}
				if by.DID() != from.by.DID() {
					t.Errorf("%s handed on what %s has", by.DID(), from.by.DID())
				}
				to := by
				if in.Holder != "" {
					to = people[slices.IndexFunc(people, func(p *venue.Principal) bool { return p.DID().String() == in.Holder })]
				}
				take(raw, to, from)
			default:
				h := rapid.SampledFrom(all).Draw(t, "used")
				others := rapid.SampledFrom(all).Draw(t, "with a handle of")
				if len(others.Handles) == 0 {
					continue
				}
				handle := rapid.SampledFrom(others.Handles).Draw(t, "handle")
				skill := rapid.SampledFrom([]string{"retrieve_document", "delete_document", "create_document", "copy_document"}).Draw(t, "skill")
				raw, err := by.Invoke(ctx, "capability:use", lending.Use{
					Skill: skill, CapabilityID: h.ID, Arguments: map[string]json.RawMessage{"resourceHandle": json.RawMessage(`"` + handle.Handle + `"`)},
				})
				if err != nil {
					if strings.Contains(err.Error(), "w/") {
						t.Errorf("the refusal tells a path: %v", err)
					}
					continue
				}
				name, mine := h.of[handle.Handle]
				if !mine || by.DID() != h.by.DID() || skill != "retrieve_document" || !slices.Contains(h.Operations, "retrieve") {
					t.Errorf("%s did %s on %s by %+v", by.DID(), skill, handle.Handle, h)
				}
				if text, known := texts[name]; known && !strings.Contains(string(raw), text) {
					t.Errorf("%s gave %s", name, raw)
				}
			}
		}
	})
}
