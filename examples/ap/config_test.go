package ap

import "testing"

func TestConfigLoads(t *testing.T) {
	cfg, err := Config()
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Agents) != 5 || len(cfg.Orchestrations) != 2 {
		t.Errorf("configuration has %d agents and %d orchestrations, want 5 and 2", len(cfg.Agents), len(cfg.Orchestrations))
	}
}
