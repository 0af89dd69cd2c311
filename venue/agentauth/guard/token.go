package guard

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	maxToken  = 16 << 10 // bytes
	maxID     = 256      // bytes of a jti
	maxAnswer = 1 << 20  // bytes of an introspection
	maxLife   = 60       // s between iat and exp
)

// token is a JWT as it says of itself: whether that is so, the venue says.
type token struct {
	text, id, capability string
}

// token reads the JWT of a request: one that could be good nowhere but here, for one
// capability.
func (g *Guard) token(r *http.Request) (*token, error) {
	sent := r.Header.Values("Authorization")
	if len(sent) != 1 {
		return nil, noProof("unauthorized", "send the JWT of an agent, Authorization: Bearer; the discovery document of the venue says how to get one")
	}
	scheme, text, _ := strings.Cut(sent[0], " ")
	if text = strings.TrimSpace(text); !strings.EqualFold(scheme, "Bearer") || text == "" {
		return nil, noProof("unauthorized", "send the JWT of an agent, Authorization: Bearer")
	}
	parts := strings.Split(text, ".")
	if len(text) > maxToken || len(parts) != 3 {
		return nil, noProof("invalid_jwt", "the bearer token is no JWT of an agent")
	}
	var claims map[string]json.RawMessage // names are told apart by case
	raw, err := base64.RawURLEncoding.Strict().DecodeString(parts[1])
	if err != nil || json.Unmarshal(raw, &claims) != nil {
		return nil, noProof("invalid_jwt", "the claims of the JWT are not read")
	}
	var aud, capabilities []string
	var id string
	var begins, ends float64
	if json.Unmarshal(claims["aud"], &aud) != nil {
		aud = make([]string, 1)
		_ = json.Unmarshal(claims["aud"], &aud[0]) // what is none is not the URL
	}
	if len(aud) != 1 || aud[0] != g.self {
		return nil, noProof("invalid_jwt", "aud of the JWT is another: it is the URL of this service, and no other beside it")
	}
	if json.Unmarshal(claims["jti"], &id) != nil || id == "" || len(id) > maxID {
		return nil, noProof("invalid_jwt", fmt.Sprintf("the JWT has no jti of 1 to %d bytes", maxID))
	}
	if json.Unmarshal(claims["iat"], &begins) != nil || json.Unmarshal(claims["exp"], &ends) != nil || ends-begins > maxLife {
		return nil, noProof("invalid_jwt", fmt.Sprintf("the JWT has no iat and exp that are at most %d s apart", maxLife))
	}
	if json.Unmarshal(claims["capabilities"], &capabilities) != nil || len(capabilities) != 1 || capabilities[0] == "" {
		return nil, noProof("invalid_jwt", "the capabilities claim of the JWT names not exactly one: the one that it is for")
	}
	return &token{text, id, capabilities[0]}, nil
}

// introspection is what a venue says of a token.
type introspection struct {
	Active bool    `json:"active"`
	Agent  string  `json:"agent_id"`
	Host   string  `json:"host_id"`
	User   string  `json:"user_id"`
	Mode   string  `json:"mode"`
	Grants []Grant `json:"agent_capability_grants"`
}

// Grant is a capability that a person gave an agent.
type Grant struct {
	Capability  string          `json:"capability"`
	Status      string          `json:"status"`
	Constraints json.RawMessage `json:"constraints,omitempty"` // what the arguments keep to; empty is no bound
	Location    string          `json:"location,omitempty"`
}

// introspect asks the venue what a token is worth now. Nothing is kept of the answer.
func (g *Guard) introspect(ctx context.Context, text string) (*introspection, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	select {
	case g.turns <- struct{}{}:
		defer func() { <-g.turns }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for a turn: %w", ctx.Err())
	}
	body, err := json.Marshal(map[string]string{"token": text})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.opts.Introspect, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+g.secret)
	res, err := g.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the venue: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask the venue: it answers %d, to the credential of this service", res.StatusCode)
	}
	var out introspection
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("read what the venue says: %w", err)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, fmt.Errorf("read what the venue says: %w", err)
	}
	if !out.Active || out.Agent == "" {
		return nil, noProof("invalid_jwt", "the venue does not vouch for the JWT: it is none of an agent that is active, or has expired")
	}
	return &out, nil
}

// seenLife is for how long a jti is remembered: as long as the venue could vouch for its JWT
// again, which is skew, life and skew (120 s) after it did first, and the time to ask.
const seenLife = 2*time.Minute + 2*askTime
