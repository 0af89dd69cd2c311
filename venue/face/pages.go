package face

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"usher/tools/fault"
)

// pages tells apart what a page of another origin has a browser send.
var pages http.CrossOriginProtection

var errOrigin = fault.New(fault.Refused, "a page of another origin sends this: only pages of this venue's own may, and of the origins that are listed under server.cors")

// Page refuses what a page has a browser send that is neither of this venue's own origin nor of one
// that the configuration lists.
func (d *Door) Page(r *http.Request) error {
	if slices.Contains(d.Origins, r.Header.Get("Origin")) || pages.Check(r) == nil {
		return nil
	}
	return errOrigin
}

// nameless refuses what a browser on this machine may be led to send as nobody: by a page of
// another origin, or by one whose own host leads here, since somebody has its name resolved so.
// Whoever shows a bearer is no browser that was led here.
func (d *Door) nameless(r *http.Request) error {
	if err := d.Page(r); err != nil {
		return err
	}
	return d.Host(r)
}

// Host refuses what reaches this machine from within, and names another host: a page whose own name
// leads here may send it.
func (d *Door) Host(r *http.Request) error {
	at, isTCP := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !isTCP || !at.IP.IsLoopback() || isOwnName(r.Host) || d.isHost(hostOf(r.Host)) {
		return nil
	}
	return fault.New(fault.Refused, fmt.Sprintf("this venue is not known as %.100q: where a proxy passes that name on, list it under server.hosts", r.Host))
}

func (d *Door) isHost(name string) bool {
	return slices.ContainsFunc(d.Hosts, func(host string) bool { return strings.EqualFold(host, name) })
}

// isOwnName reports whether a host, with a port or without, names the machine that one is at.
func isOwnName(host string) bool {
	name := hostOf(host)
	ip := net.ParseIP(name)
	return ip.IsLoopback() || strings.EqualFold(name, "localhost") || host == ""
}

// hostOf is a host without its port.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}
