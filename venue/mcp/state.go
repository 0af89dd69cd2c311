package mcp

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"usher/tools/fault"
)

// state is what a client sends back with its answers: whose it is, of which call, and how
// long it holds. A client can read it, and change nothing of it.
type state struct {
	Who   string `json:"who"`
	Call  []byte `json:"call"` // digest of what is called, with its input
	Until int64  `json:"until"`
	State string `json:"state,omitempty"` // of the operation
	Job   string `json:"job,omitempty"`   // that waits for the answers
}

const (
	stateTime = time.Hour
	maxState  = 64 << 10 // bytes
)

// seals makes states that only it takes back, until the process ends.
type seals struct{ key [32]byte }

func newSeals() *seals {
	s := new(seals)
	_, _ = rand.Read(s.key[:]) // never fails
	return s
}

func (s *seals) sum(text string) []byte {
	h := hmac.New(sha256.New, s.key[:])
	h.Write([]byte(text))
	return h.Sum(nil)
}

func digest(parts ...string) []byte {
	h := sha256.New()
	for _, p := range parts {
		sum := sha256.Sum256([]byte(p))
		h.Write(sum[:])
	}
	return h.Sum(nil)
}

// seal writes a state.
func (s *seals) seal(st *state) (string, error) {
	raw, err := json.Marshal(st)
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString(raw)
	return text + "." + base64.RawURLEncoding.EncodeToString(s.sum(text)), nil
}

var errState = fault.New(fault.InvalidInput, "requestState is not what this venue gave you for this call, or too old: leave it out to begin again")

// open reads a state of the caller's, of the call. None is that of a first call.
func (s *seals) open(sealed, who string, call []byte, now time.Time) (*state, error) {
	if sealed == "" {
		return new(state), nil
	}
	text, sum, ok := strings.Cut(sealed, ".")
	given, err := base64.RawURLEncoding.DecodeString(sum)
	if !ok || err != nil || len(sealed) > maxState || !hmac.Equal(given, s.sum(text)) {
		return nil, errState
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, errState
	}
	st := new(state)
	if err := json.Unmarshal(raw, st); err != nil || st.Who != who || !hmac.Equal(st.Call, call) || now.Unix() > st.Until {
		return nil, errState
	}
	return st, nil
}
