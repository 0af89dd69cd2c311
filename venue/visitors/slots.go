package visitors

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"

	"usher/venue/store"
)

// Each agent of a host that counts has a slot, of as many as a host may have agents. Requests
// that come at once take different ones: who takes one that another has just taken begins again.

const slotPrefix = prefix + "slot/"

func slotsOf(host string) string { return slotPrefix + host + "/" }

func slotKey(host string, n int) string { return fmt.Sprintf("%s%06d", slotsOf(host), n) }

// maxSlots is how many of a host are removed with it: more stay, and harm nobody.
const maxSlots = 1000

// slot adds to a change that an agent takes a slot of its host, where it has none. One that another has
// had comes as another key does.
func (r *Room) slot(ctx context.Context, c *change, host, agent string) error {
	most := cmp.Or(r.set.Load().Agents, defaultAgents)
	taken := make(map[string]store.Row)
	for row, err := range store.Rows(ctx, r.Store, slotsOf(host), "") {
		if err != nil {
			return err
		}
		if string(row.Value) == agent {
			return nil
		}
		taken[row.Key] = row
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(agent)) // it cannot fail
	begin := int(sum.Sum32() % uint32(most))
	for i := 0; i < most && len(taken) < most; i++ {
		if key := slotKey(host, (begin+i)%most); taken[key].Key == "" {
			c.set(key, 0, []byte(agent))
			return nil
		}
	}
	free, counts := "", 0
	for key, row := range taken {
		over, err := r.isOut(ctx, string(row.Value))
		if err != nil {
			return err
		}
		if over {
			free = key
		} else {
			counts++
		}
	}
	if free == "" || counts >= most {
		return refuse(agentLimit, "the host has %d agents, as many as one may have: revoke some", counts)
	}
	if err := r.rates.key(host, r.Now()); err != nil {
		return err
	}
	c.set(free, taken[free].Rev, []byte(agent))
	return nil
}

// isOut reports whether an agent counts no more: it has ended, or nobody can approve it.
func (r *Room) isOut(ctx context.Context, id string) (bool, error) {
	a, h, err := r.agent(ctx, id)
	if err != nil || a == nil {
		return err == nil, err
	}
	switch r.Standing(a, h) {
	case Active, expired:
		return false, nil
	case Pending:
		return a.Ask == nil || r.isOver(a.Ask), nil
	}
	return true, nil
}
