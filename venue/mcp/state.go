package mcp

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"time"

	"usher/tools/fault"
)

// state is what a client sends back with its answers, and how long it holds.
type state struct {
	Until int64  `json:"until"`
	State string `json:"state,omitempty"` // of the operation
	Job   string `json:"job,omitempty"`   // that waits for the answers
}

const (
	stateTime = time.Hour
	maxState  = 64 << 10 // bytes
)

// seals makes states that only it takes back, for one principal and one call, until the process
// ends.
type seals struct{ cipher.AEAD }

func newSeals() (seals, error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	block, err := aes.NewCipher(key)
	if err != nil {
		return seals{}, err
	}
	s, err := cipher.NewGCMWithRandomNonce(block)
	return seals{s}, err
}

func digest(parts ...string) []byte {
	h := sha256.New()
	for _, p := range parts {
		sum := sha256.Sum256([]byte(p))
		h.Write(sum[:])
	}
	return h.Sum(nil)
}

// seal writes a state that a caller has of a message.
func (s seals) seal(st *state, c *caller, m *message) (string, error) {
	raw, err := json.Marshal(st)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.Seal(nil, nil, raw, m.digest(c))), nil
}

var errState = fault.New(fault.InvalidInput, "requestState is not what this venue gave you for this call, or too old: leave it out to begin again")

// open reads the state that came back with a message of a caller. None is that of a first call.
func (s seals) open(c *caller, m *message) (*state, error) {
	st := new(state)
	if m.returned == "" {
		return st, nil
	}
	box, err := base64.RawURLEncoding.DecodeString(m.returned[:min(len(m.returned), maxState)])
	if err != nil {
		return nil, errState
	}
	raw, err := s.Open(nil, nil, box, m.digest(c))
	if err != nil || json.Unmarshal(raw, st) != nil || time.Now().Unix() > st.Until {
		return nil, errState
	}
	return st, nil
}
