package cli

import (
	"fmt"
	"strings"

	"usher/caps"
	"usher/tools/form"
	"usher/venue"
	"usher/venue/config"
)

// noteAbilities says which abilities are probably misspelt.
func (s *streams) noteAbilities(set caps.Set) {
	registry, err := venue.Catalogue()
	if err != nil {
		return
	}
	for c := range set.All() {
		if said := config.Misspelt(registry, c.Can()); said != "" {
			s.warn(said)
		}
	}
}

// unknown is an error about a name that nothing has, and says which there are.
func unknown(what, name string, known []string) error {
	const few = 5
	switch {
	case len(known) == 0:
		return misusef("%s %q, nor any other", what, name)
	case len(known) > few:
		known = append(known[:few:few], fmt.Sprintf("%d more", len(known)-few))
	}
	hint := ""
	if near := form.Nearest(strings.ToLower(name), known); near != "" && len(known) > 1 {
		hint = "did you mean " + near + "? "
	}
	return misusef("%s %q; %sthere are: %s", what, name, hint, strings.Join(known, ", "))
}
