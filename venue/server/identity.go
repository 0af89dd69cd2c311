package server

import (
	"encoding/json"
	"net/http"
	"strings"

	"usher/ucan"
	"usher/venue/face"
)

// identity is the DID document of the venue.
func (s *Server) identity(w http.ResponseWriter, _ *http.Request) { document(w, s.venue.DID()) }

// principal is the DID document of a principal whose key is the venue's. It is found by its
// DID, or the multikey in it: who knows neither learns of nobody.
func (s *Server) principal(w http.ResponseWriter, r *http.Request) {
	did, err := ucan.ParseDID("did:key:" + strings.TrimPrefix(r.PathValue("id"), "did:key:"))
	if err != nil || !s.venue.Hosts(did) {
		face.Of(errNothing).WriteTo(w)
		return
	}
	document(w, did)
}

// document answers with a DID document (W3C DID Core; did:key method).
func document(w http.ResponseWriter, of ucan.DID) {
	did := of.String()
	key := did + "#" + of.Multikey()
	raw, err := json.Marshal(map[string]any{
		"@context": []string{"https://www.w3.org/ns/did/v1", "https://w3id.org/security/multikey/v1"},
		"id":       did,
		"verificationMethod": []map[string]string{{
			"id": key, "type": "Multikey", "controller": did, "publicKeyMultibase": of.Multikey(),
		}},
		"authentication":       []string{key},
		"assertionMethod":      []string{key},
		"capabilityInvocation": []string{key},
		"capabilityDelegation": []string{key},
	})
	if err != nil {
		text(w, http.StatusInternalServerError, "the document cannot be written\n")
		return
	}
	w.Header().Set("Content-Type", "application/did+json")
	_, _ = w.Write(raw)
}
