package server

import (
	"encoding/json"
	"net/http"
	"strings"
)

// identity is the DID document of the venue (W3C DID Core; did:key method).
func (s *Server) identity(w http.ResponseWriter, _ *http.Request) {
	did := s.venue.DID().String()
	key := did + "#" + strings.TrimPrefix(did, "did:key:")
	raw, err := json.Marshal(map[string]any{
		"@context": []string{"https://www.w3.org/ns/did/v1", "https://w3id.org/security/multikey/v1"},
		"id":       did,
		"verificationMethod": []map[string]string{{
			"id": key, "type": "Multikey", "controller": did, "publicKeyMultibase": strings.TrimPrefix(did, "did:key:"),
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
