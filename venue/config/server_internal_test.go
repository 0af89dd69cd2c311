package config

import (
	"strings"
	"testing"
)

func TestServerAddresses(t *testing.T) {
	for name, c := range map[string]struct {
		server Server
		want   string // in the error; empty is none
	}{
		"none":            {Server{}, ""},
		"two":             {Server{Listen: ":1", Metrics: ":2"}, ""},
		"one for both":    {Server{Listen: ":1", Metrics: ":1"}, "another one"},
		"any two":         {Server{Listen: ":0", Metrics: ":0"}, ""},
		"a socket":        {Server{Metrics: "unix:/run/m"}, "HOST:PORT"},
		"no port":         {Server{Metrics: "localhost"}, "HOST:PORT"},
		"too high a port": {Server{Metrics: ":70000"}, "HOST:PORT"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.server.Check(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("Check() = %v, want %q", err, c.want)
			}
		})
	}
}

func TestLintFindsFilesOfTLS(t *testing.T) {
	l := &linter{config: &Config{Dir: t.TempDir(), Server: Server{TLS: TLS{Cert: "no.crt", Key: "no.key"}}}}
	l.server()
	if len(l.found) != 2 || !strings.Contains(l.found[0].Message, "cannot be read") {
		t.Errorf("found %+v, want both files", l.found)
	}
}
