// Package login is where people sign in to a venue on a port: at [Path], with a token of the venue or
// by a provider of OpenID Connect (authorization code with PKCE). A cookie that scripts do not see keeps
// them signed in, for [auth.SessionLife] at most. [New] returns the face.
package login
