package venue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"usher/tools/fault"
	"usher/venue/apply"
	"usher/venue/config"
	"usher/venue/store/journal"
)

// application is the configuration that a venue has been brought to.
type application struct {
	mu      sync.Mutex // held while one is applied
	user    *User      // whose all of it is
	config  *config.Config
	models  map[string]config.Model // that the venue has
	outcome apply.Outcome

	now atomic.Pointer[config.Config] // config, for whoever does not wait for mu
}

// Outcome is what came of applying the configuration last.
func (v *Venue) Outcome() apply.Outcome {
	v.applied.mu.Lock()
	defer v.applied.mu.Unlock()
	return v.applied.outcome
}

// Configure brings a venue that was opened with a configuration to another one, as
// opening it with that would: models, MCP servers, data, agents and orchestrations, from their
// next call on. The name, user, store, limits, ledger and retention take effect where
// the venue is opened with it. A configuration with models that cannot be made
// changes nothing. Where an entry cannot be applied, all others are: the same call
// tries it again, and one with the configuration of before takes the others back.
func (v *Venue) Configure(ctx context.Context, c *config.Config) error {
	a := &v.applied
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case v.readOnly:
		return journal.ErrReadOnly
	case a.config == nil:
		return errors.New("the venue was opened without a configuration: open it with one")
	}
	return v.apply(ctx, c)
}

// Preview is what [Venue.Configure] would do with the agents of the principal, whose
// configuration it is.
func (v *Venue) Preview(ctx context.Context, c *config.Config, of *Principal) (apply.Preview, error) {
	return apply.Agents(ctx, c, of.DID(), v.store.Under("c/"))
}

// configure applies the configuration that the venue is opened with.
func (v *Venue) configure(ctx context.Context, c *config.Config, u *User) error {
	a := &v.applied
	a.mu.Lock()
	defer a.mu.Unlock()
	a.user, a.models = u, c.Models
	return v.apply(ctx, c)
}

func (v *Venue) apply(ctx context.Context, c *config.Config) error {
	a := &v.applied
	if faulty := c.Faulty(); len(faulty) > 0 { // nothing of it is written, then
		return fault.New(fault.InvalidInput, "apply: "+faulty[0].String())
	}
	if !reflect.DeepEqual(a.models, c.Models) {
		if err := v.models.Replace(ctx, c); err != nil {
			return fmt.Errorf("apply models: %w", err)
		}
		a.models = c.Models // also where what follows fails
	}
	if err := v.servers.Set(ctx, c.MCP); err != nil {
		return fmt.Errorf("apply mcp: %w", err)
	}
	out, refused := apply.Config(ctx, c, a.user, v.store.Under("c/"))
	if err := cmp.Or(v.setHooks(ctx, c), v.setVisits(ctx, c)); err != nil {
		return errors.Join(refused, err)
	}
	v.hook.Set(hookOf(c))
	v.abroad.Set(c.AgentAuth.PrivateServers)
	v.others.Set(c.A2A.PrivateServers)
	a.config, a.outcome = c, out
	a.now.Store(c)
	return refused
}
