package a2a

import (
	"encoding/json"
	"net/http"
	"strconv"

	"usher/caps/value"
	"usher/tools"
	"usher/venue/face"
)

// kinds are the fields of queries that are no texts.
var kinds = map[string]string{"historyLength": "number", "pageSize": "number", "includeArtifacts": "boolean"}

// http answers a request of HTTP+JSON.
func (f *Face) http(w http.ResponseWriter, r *http.Request, agent, path string) {
	c, err := f.open(w, r, agent)
	if err == nil {
		err = c.http(path)
	}
	if err == nil {
		return
	}
	e := failureOf(err)
	if e.HTTP == http.StatusUnauthorized {
		w.Header().Add("WWW-Authenticate", face.Challenge(r))
	}
	write(w, jsonType, e.HTTP, e.status())
}

func (c *call) http(path string) error {
	if c.version != modern {
		return errVersion.because("HTTP+JSON is spoken in 1.0: say A2A-Version: 1.0")
	}
	m, vars, wrong := route(c.r.Method, path)
	switch {
	case wrong && m == nil:
		return (&failure{Code: errMethod.Code, HTTP: http.StatusMethodNotAllowed, Status: "UNIMPLEMENTED", Reason: errMethod.Reason}).because("this is there for another method of HTTP")
	case m == nil:
		return errMethod
	}
	if err := c.gather(m, vars); err != nil {
		return err
	}
	if m.stream != nil {
		return c.streams(m, func(event any, failed error) any {
			if failed != nil {
				return failureOf(failed).status()
			}
			return event
		})
	}
	result, err := m.answer(c)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if result = c.inVersion(result); result == nil {
		result = empty{}
	}
	write(c.w, ownType, status, result)
	return nil
}

// gather makes parameters of the body, the path and the query.
func (c *call) gather(m *method, vars map[string]string) error {
	all := make(map[string]json.RawMessage)
	if m.verb == http.MethodPost && c.r.ContentLength != 0 {
		raw, err := c.body()
		if err != nil {
			return err
		}
		if err := tools.CheckObject(raw); err != nil {
			return errParams.because("the body is no JSON object: " + err.Error())
		}
		if err := json.Unmarshal(raw, &all); err != nil {
			return errParams.because(err.Error())
		}
	}
	for name, values := range c.r.URL.Query() {
		if name == versionHeader {
			continue
		}
		if len(values) > 1 {
			return errParams.because("the query has " + value.Cut(name, 40) + " several times")
		}
		if _, twice := all[name]; twice {
			return errParams.because(value.Cut(name, 40) + " stands in the query and in the body")
		}
		raw := json.RawMessage(value.AppendString(nil, values[0]))
		switch kinds[name] {
		case "number":
			if _, err := strconv.Atoi(values[0]); err != nil {
				return errParams.because(name + " is no whole number")
			}
			raw = json.RawMessage(values[0])
		case "boolean":
			if values[0] != "true" && values[0] != "false" {
				return errParams.because(name + " is neither true nor false")
			}
			raw = json.RawMessage(values[0])
		}
		all[name] = raw
	}
	for name, text := range vars {
		all[name] = value.AppendString(nil, text)
	}
	var err error
	c.params, err = json.Marshal(all)
	return err
}
