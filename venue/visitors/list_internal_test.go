package visitors

import (
	"strings"
	"testing"

	"usher/ucan"
	"usher/venue/config"
	"usher/venue/store/memory"
)

// An agent whose host is gone, as it is removed now, is an error of a list and no more.
func TestAListedAgentWithoutAHost(t *testing.T) {
	st := memory.Open()
	defer st.Close()
	r := New(Options{Store: st.Under("")})
	key, err := ucan.KeyFromSeed([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Set(key.DID(), ucan.DID{}, config.AgentAuth{}); err != nil {
		t.Fatal(err)
	}
	a := &Agent{ID: "agt", Host: "hst", Status: Active, Key: key.DID()}
	if _, err := r.Store.Apply(t.Context(), nil, map[string][]byte{agentKey(a.ID): encode(a)}, nil); err != nil {
		t.Fatal(err)
	}
	list, _, err := r.Agents(t.Context(), key.DID(), "", "")
	if err == nil || len(list) != 0 {
		t.Errorf("listed %v, %v; want an error", list, err)
	}
}
