package a2a

import (
	"encoding/json"
	"net/http"
	"strings"

	"usher/venue/face"
)

// rpcRequest is a request of JSON-RPC 2.0.
type rpcRequest struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// rpcAnswer is what is sent in return.
type rpcAnswer struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int              `json:"code"`
	Message string           `json:"message"`
	Data    []map[string]any `json:"data"`
}

// empty is a result that says nothing more.
type empty struct{}

// rpc answers a request of JSON-RPC.
func (f *Face) rpc(w http.ResponseWriter, r *http.Request, agent string) {
	answer := rpcAnswer{Version: "2.0", ID: json.RawMessage("null")}
	refuse := func(err error) {
		e, status := failureOf(err), http.StatusOK
		if e.HTTP == http.StatusUnauthorized {
			status = e.HTTP
			w.Header().Add("WWW-Authenticate", face.Challenge(r))
		}
		answer.Result, answer.Error = nil, e.rpc()
		write(w, jsonType, status, answer)
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		write(w, jsonType, http.StatusMethodNotAllowed, errRequest.because("JSON-RPC comes by POST").status())
		return
	}
	c, err := f.open(w, r, agent)
	if err != nil {
		refuse(err)
		return
	}
	m, err := c.readMethod(&answer)
	if err != nil {
		refuse(err)
		return
	}
	if m.stream != nil {
		err := c.streams(m, func(event any, failed error) any {
			answer.Result, answer.Error = event, nil
			if failed != nil {
				answer.Result, answer.Error = nil, failureOf(failed).rpc()
			}
			return answer
		})
		if err != nil {
			refuse(err)
		}
		return
	}
	result, err := m.answer(c)
	if err != nil {
		refuse(err)
		return
	}
	if answer.Result = c.inVersion(result); answer.Result == nil {
		answer.Result = empty{}
	}
	write(w, jsonType, http.StatusOK, answer)
}

// readMethod reads the method that is called, and its parameters.
func (c *call) readMethod(answer *rpcAnswer) (*method, error) {
	raw, err := c.body()
	if err != nil {
		return nil, err
	}
	var req rpcRequest
	if err := json.Unmarshal(raw, &req); err != nil {
		return nil, errRequest
	}
	if len(req.ID) > 0 {
		if strings.IndexByte("{[tf", req.ID[0]) >= 0 {
			return nil, errRequest.because("id is no text and no number")
		}
		answer.ID = req.ID
	}
	if req.Version != "2.0" || req.Method == "" {
		return nil, errRequest
	}
	m := methodOf(req.Method, c.version)
	switch {
	case m != nil:
		c.params = req.Params
		return m, nil
	case c.version == legacy && methodOf(req.Method, modern) != nil:
		return nil, errMethod.because("this is a method of 1.0: say A2A-Version: 1.0, as a request without it is of 0.3")
	}
	return nil, errMethod
}
