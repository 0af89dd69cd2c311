package a2a

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	face "usher/venue/a2a"
)

// caller speaks A2A to a venue, as an agent elsewhere does.
type caller struct{ url, token string }

// refusal is an error of the protocol.
type refusal struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *refusal) Error() string { return fmt.Sprintf("%d: %s", e.Code, e.Message) }

// call calls a method of the venue, and reads its result.
func (c *caller) call(ctx context.Context, agent, method string, params, result any) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+face.Prefix+agent, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Authorization": "Bearer " + c.token, "A2A-Version": "1.0", "A2A-Extensions": face.URI} {
		req.Header.Set(name, value)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var answer struct {
		Result json.RawMessage `json:"result"`
		Error  *refusal        `json:"error"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if answer.Error != nil {
		return answer.Error
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(answer.Result, result)
}
