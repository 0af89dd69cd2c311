package mcp

import (
	"net/http"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"usher/venue/face"
)

// MetadataPath is where the face tells of itself as a protected resource (RFC 9728).
const MetadataPath = "/.well-known/oauth-protected-resource"

// at is a path of this venue as the client called it.
func at(r *http.Request, path string) string {
	u := url.URL{Scheme: "http", Host: r.Host, Path: path}
	if face.IsSecure(r) {
		u.Scheme = "https"
	}
	return u.String()
}

// challenge is how a caller proves who they are: by a token, of a server that the
// metadata names.
func challenge(r *http.Request) string {
	return face.Challenge(r) + `, resource_metadata="` + at(r, MetadataPath+Path) + `"`
}

// Metadata answers at [MetadataPath], and below it at [Path].
func (f *Face) Metadata(w http.ResponseWriter, r *http.Request) {
	auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: at(r, Path), ResourceName: f.door.Venue.Name(),
		AuthorizationServers: f.door.Venue.Issuers(), BearerMethodsSupported: []string{"header"},
	}).ServeHTTP(w, r)
}
