package telemetry

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"usher/tools/spend"
)

// Used is what calls of one model came to since the start.
type Used struct {
	Provider, Model string
	Calls, Failed   int64 // Failed are among Calls
	Input, Output   int64 // tokens
}

// maxUsed bounds how many models are told apart. What more there are count together, by no
// name.
const maxUsed = 100

// tally counts what models are used. The zero value is valid, and safe for concurrent use.
type tally struct {
	mu sync.Mutex
	of map[[2]string]*Used
}

func (t *tally) add(call *ModelCall, u spend.Usage, failed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := [2]string{call.Provider, call.Model}
	if t.of[key] == nil && len(t.of) >= maxUsed {
		key = [2]string{unknownProvider, ""}
	}
	used := t.of[key]
	if used == nil {
		if t.of == nil {
			t.of = make(map[[2]string]*Used)
		}
		used = &Used{Provider: strings.Clone(key[0]), Model: strings.Clone(key[1])}
		t.of[key] = used
	}
	used.Calls++
	if failed {
		used.Failed++
	}
	used.Input, used.Output = used.Input+int64(max(0, u.Input)), used.Output+int64(max(0, u.Output))
}

// Used lists what each model was used, by provider and model as they are configured. Nil has
// counted nothing.
func (t *Telemetry) Used() (list []Used) {
	if t == nil {
		return nil
	}
	t.used.mu.Lock()
	defer t.used.mu.Unlock()
	for u := range maps.Values(t.used.of) {
		list = append(list, *u)
	}
	slices.SortFunc(list, func(a, b Used) int {
		return cmp.Or(strings.Compare(a.Provider, b.Provider), strings.Compare(a.Model, b.Model))
	})
	return list
}
