package cli

import (
	"fmt"
	"strings"

	"usher/caps"
	"usher/tools/agents"
	"usher/tools/fault"
	"usher/tools/form"
	"usher/venue"
	"usher/venue/config"
)

// noteAbilities says which abilities are probably misspelt.
func (s *streams) noteAbilities(set caps.Set) {
	registry, err := venue.Catalogue(s.program.Tools...)
	if err != nil {
		return
	}
	for c := range set.All() {
		if said := config.NearAbility(registry, c.Can()); said != "" {
			s.warn(said)
		}
	}
}

// unknown is an error about a name that nothing in the list has, and says which
// there are.
func unknown[T any](what, name string, list []T, nameOf func(T) string) error {
	const few = 5
	if len(list) == 0 {
		return noSuchName(fmt.Sprintf("%s %q, nor any other", what, name))
	}
	known := names(list, nameOf)
	meant := form.Suggest(strings.ToLower(name), known)
	if len(known) == 1 {
		meant = ""
	}
	if len(known) > few {
		known = append(known[:few:few], fmt.Sprintf("%d more", len(known)-few))
	}
	return noSuchName(fmt.Sprintf("%s %q; %s", what, name, strings.TrimSpace(meant+" there are: "+strings.Join(known, ", "))))
}

// noSuchName is the misuse that a name names nothing.
func noSuchName(text string) error { return misuse{fault.New(fault.NotFound, text)} }

func names[T any](list []T, nameOf func(T) string) []string {
	all := make([]string, len(list))
	for i, one := range list {
		all[i] = nameOf(one)
	}
	return all
}

func ofSpec(spec agents.Spec) string { return spec.ID }

func itself(name string) string { return name }
