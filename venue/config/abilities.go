package config

import (
	"strings"

	"usher/caps"
	"usher/tools"
	"usher/tools/agents"
	"usher/tools/form"
)

// Misspelt says what an ability that no operation of reg needs was probably meant
// to be. It is empty where one does need it, or none is close: other venues have
// other abilities.
func Misspelt(reg *tools.Registry, can caps.Ability) string {
	var known []string
	for _, op := range reg.All() {
		for _, alternatives := range op.Scopes() {
			for _, sc := range alternatives {
				if can.Covers(sc.Can) || sc.Can.Covers(can) {
					return ""
				}
				family, _, _ := strings.Cut(string(sc.Can), "/")
				known = append(known, string(sc.Can), family)
			}
		}
	}
	near := form.Nearest(string(can), known)
	if near == "" {
		return ""
	}
	return "no operation here needs " + string(can) + ": did you mean " + near + "?"
}

// abilities finds misspelt ones among the capabilities of an agent.
func (l *linter) abilities(a *agents.Spec) {
	set, _ := a.Caps.Set()
	for c := range set.All() {
		if said := Misspelt(l.registry, c.Can()); said != "" {
			l.report(LevelWarning, l.capPlace(a, c), "agent "+a.ID, said, "")
		}
	}
}
