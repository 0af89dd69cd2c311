package agentauth

import "usher/venue/visitors"

const executePath = "/capability/execute"

// endpoints are those that are advertised, by their names.
var endpoints = map[string]string{
	"register":            "/agent/register",
	"capabilities":        "/capability/list",
	"describe_capability": "/capability/describe",
	"execute":             executePath,
	"batch_execute":       "/capability/batch-execute",
	"request_capability":  "/agent/request-capability",
	"status":              "/agent/status",
	"reactivate":          "/agent/reactivate",
	"revoke":              "/agent/revoke",
	"revoke_capability":   "/agent/revoke-capability",
	"revoke_host":         "/host/revoke",
	"rotate_key":          "/agent/rotate-key",
	"rotate_host_key":     "/host/rotate-key",
	"introspect":          "/agent/introspect",
	"device":              pagePath,
	"device_code":         "/agent/device/code",
	"claim":               "/agent/claim",
}

// discover answers with what an agent has to know to get in.
func (c *call) discover() error {
	at := make(map[string]string, len(endpoints))
	for name, path := range endpoints {
		at[name] = c.issuer + path
	}
	s := c.face.room.Settings()
	c.w.Header().Set("Cache-Control", "public, max-age=3600")
	return c.ok(map[string]any{
		"version": "1.0-draft", "provider_name": c.face.door.Venue.Name(), "description": s.Description, "issuer": c.issuer,
		"default_location": c.issuer + executePath, "algorithms": []string{"Ed25519"}, "modes": c.face.room.Modes(),
		"approval_methods": visitors.Methods, "endpoints": at,
	})
}
