package agentauth

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"usher/caps"
	"usher/caps/value"
	"usher/tools/reach"
)

// place is where a server is.
type place struct {
	origin string // scheme, host and port
	host   string // with the port, where it is not the scheme's
}

var errServer = errors.New("server is no address: give its origin, for example https://auth.example.com")

// hostForm is what a host may be written with: one spelling each, which is also a segment
// of a resource.
var hostForm = value.Form(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[1-9][0-9]{0,4})?$`)

const maxServer = 1 << 10 // bytes, as of a resource

// parsePlace reads the origin of a server. A host alone means https.
func parsePlace(text string) (place, error) {
	if len(text) > maxServer {
		return place{}, errServer
	}
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.TrimSuffix(u.Path, "/") != "" {
		return place{}, errServer
	}
	host := reach.Host(u)
	if u.Scheme != "https" && u.Scheme != "http" || !hostForm().MatchString(host) || strings.Contains(host, "..") {
		return place{}, errServer
	}
	at := place{u.Scheme + "://" + host, host}
	if _, err := caps.ParseResource(at.origin); err != nil { // such as a number that some read as an address
		return place{}, errServer
	}
	return at, nil
}

// CheckHost says what is wrong with a host as [Clients.Set] takes it.
func CheckHost(host string) error {
	if p, err := parsePlace(host); err != nil || p.host != host {
		return fmt.Errorf("%q is no host: give it as auth.internal, or auth.internal:8443, in lower case and without a scheme", host)
	}
	return nil
}

// capabilityForm is how capabilities may be named ("Capability naming").
var capabilityForm = value.Form(`^[a-z0-9_]{1,128}$`)

// needs is an ability on a server, or on each of its capabilities that are named.
func needs(can, server string, capabilities ...string) []caps.Request {
	p, err := parsePlace(server)
	if err != nil {
		return []caps.Request{caps.Invalid(err)}
	}
	if len(capabilities) == 0 {
		return []caps.Request{caps.Need(can, "agentauth/"+p.host)}
	}
	var list []caps.Request
	for _, name := range capabilities {
		if !capabilityForm().MatchString(name) {
			return []caps.Request{caps.Invalid(fmt.Errorf("%.130q is no name of a capability: it has a-z, 0-9 and _ alone", name))}
		}
		list = append(list, caps.Need(can, "agentauth/"+p.host+"/"+name))
	}
	return list
}

var (
	errNone = errors.New("no capability is named: name at least one")
	errEnd  = errors.New("capabilities is empty: name those to give back, or leave it out to end the registration, for good")
	errMany = fmt.Errorf("more than %d capabilities are named: ask in several calls", maxBatch)
)

// needsEach is [needs] where at least one capability has to be named.
func needsEach(can, server string, capabilities []string) []caps.Request {
	switch {
	case len(capabilities) == 0:
		return []caps.Request{caps.Invalid(errNone)}
	case len(capabilities) > maxBatch:
		return []caps.Request{caps.Invalid(errMany)}
	}
	return needs(can, server, capabilities...)
}
