package config_test

import (
	"strings"
	"testing"

	"usher/venue/config"
)

// A passkey takes a venue with a name that browsers take passkeys for.
func TestPasskeysTakeAnIssuer(t *testing.T) {
	const capability = "agentauth: {%, capabilities: [{name: pay, operation: 'covia:read', caps: [{with: w/, can: crud/read}], approval: webauthn}]}\n"
	for issuer, want := range map[string]struct{ name, origin string }{
		"description: x":                             {},
		"issuer: 'https://192.0.2.1'":                {},
		"issuer: 'https://[2001:db8::1]'":            {},
		"issuer: 'http://127.0.0.1:8080'":            {},
		"issuer: 'http://venue.example.org'":         {},
		"issuer: 'https://venue'":                    {},
		"issuer: 'https://venue.example.org.'":       {},
		"issuer: 'https://Venue.Example.org:443'":    {"venue.example.org", "https://venue.example.org"},
		"issuer: 'https://venue.example.org:8443/a'": {"venue.example.org", "https://venue.example.org:8443"},
		"issuer: 'http://localhost:8080'":            {"localhost", "http://localhost:8080"},
	} {
		c, err := config.Parse("usher.yaml", []byte(strings.Replace(capability, "%", issuer, 1)))
		if want.name == "" {
			if err == nil || !strings.Contains(err.Error(), "issuer") && !strings.Contains(err.Error(), "https") {
				t.Errorf("%s: %v", issuer, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", issuer, err)
			continue
		}
		if name, origin, err := c.AgentAuth.Party(); err != nil || name != want.name || origin != want.origin {
			t.Errorf("%s is for %s %s (%v)", issuer, name, origin, err)
		}
	}
}
