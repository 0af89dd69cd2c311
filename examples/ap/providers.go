// Package ap is an accounts-payable department of agents, and the demo of
// Usher: a scanner reads invoices, an enricher looks up what is known, an
// approver decides by the policy, a manager reports, and an adversary tries
// everything. Each holds the capabilities of its job, and the gate keeps it
// there.
//
// The agents, their capabilities, the orchestration and the data are a
// configuration, usher.yaml; what is tried at the gate stands in attempts.yaml.
// The models are programs, so nothing here needs a key or a network; [Providers]
// has them for any configuration. [Demo] runs the department, with these programs
// or with a model of the user's in their place.
package ap

import (
	"context"

	"usher/runtime"
)

// Providers are the models of the department: ap/scanner, ap/enricher,
// ap/approver and ap/manager. They take no settings.
func Providers() runtime.Providers {
	out := make(runtime.Providers)
	for name, p := range map[string]program{"ap/scanner": scan, "ap/enricher": enrich, "ap/approver": approve, "ap/manager": manage} {
		out[name] = func(_ context.Context, cfg runtime.ModelConfig) (runtime.Model, error) {
			return follower{p}, runtime.NoSettings(cfg)
		}
	}
	return out
}
