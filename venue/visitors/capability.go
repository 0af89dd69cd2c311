package visitors

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"usher/caps"
	"usher/venue/config"
)

// capability is one of the configuration, ready for use.
type capability struct {
	*config.AgentCapability
	needs, within []caps.Capability
	imposed       Constraints
}

func newCapability(c *config.AgentCapability) (*capability, error) {
	out := &capability{AgentCapability: c}
	var err error
	if out.imposed, err = ParseConstraints(c.Constraints); err != nil {
		return nil, err
	}
	needs, _ := c.Caps.Set()
	within, _ := c.Within.Set()
	out.needs, out.within = slices.Collect(needs.All()), slices.Collect(within.All())
	if len(out.needs) == 0 {
		return nil, errors.New("it gives nothing: list under caps what the operation needs")
	}
	_, err = out.gives(out.imposed, time.Time{})
	return out, err
}

// gives is what a grant with the constraints gives, to an end.
func (c *capability) gives(within Constraints, until time.Time) ([]caps.Capability, error) {
	list := make([]caps.Capability, len(c.needs))
	for i, one := range c.needs {
		given, err := within.limit(one)
		if err == nil && !until.IsZero() {
			given, err = given.On(caps.Terms{When: within.when, Until: until})
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one, err)
		}
		list[i] = given
	}
	return list, nil
}
