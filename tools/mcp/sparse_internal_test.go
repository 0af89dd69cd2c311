package mcp

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"usher/tools/fault"
)

// manyValues is an answer that is shorter than one may be, and takes 35 times that in memory.
var manyValues = "[" + strings.Repeat("{},", 1_300_000) + "{}]"

func TestManyValues(t *testing.T) {
	long := `{"text":"` + strings.Repeat(`{},[:\"`, 500_000) + `"}`
	some := `{"content":` + "[" + strings.Repeat("{},", 500_000) + "{}]}"
	split := strings.ReplaceAll(manyValues, "{},{},{},{},{},{},{},{},", "{},{},{},{},{},{},{},{},\n")
	for name, c := range map[string]struct {
		text   string
		events bool
		many   bool
	}{
		"an answer":                        {`{"result":` + manyValues + `}`, false, true},
		"in lines":                         {`{"result":` + split + `}`, false, true},
		"a text of brackets":               {long, false, false},
		"a few, again and again":           {strings.Repeat(some+"\n", 4), false, false},
		"after a few":                      {some + "\n" + `{"result":` + manyValues + `}`, false, true},
		"an event":                         {"event: message\ndata: {\"result\":" + manyValues + "}\n\n", true, true},
		"an event in lines":                {"data: {\"result\":" + strings.ReplaceAll(split, "\n", "\r\ndata:") + "}\n\n", true, true},
		"after what is no data":            {": \"\nevent: \"\nid: {[\"\ndata: " + manyValues + "\n\n", true, true},
		"events of a few":                  {strings.Repeat("data: "+some+"\r\n\r\n", 4), true, false},
		"an event after one without end":   {"data: {\"x\":\"\n\ndata: " + manyValues + "\n\n", true, true},
		"what is no data, of events":       {": " + manyValues + "\n\n", true, false},
		"an event with a text of brackets": {"data: " + long + "\n\n", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			for size, from := range map[string]io.Reader{"whole": strings.NewReader(c.text), "in halves": iotest.HalfReader(bytes.NewReader([]byte(c.text)))} {
				_, err := io.Copy(io.Discard, &sparse{Reader: from, events: c.events})
				if (err != nil) != c.many || err != nil && !errors.Is(err, errValues) {
					t.Errorf("%s: %v, want too many values: %v", size, err, c.many)
				}
			}
		})
	}
}

// A server that answers with more values than fit ends its own call.
func TestAServerThatAnswersManyValues(t *testing.T) {
	l := newLair(t, Options{})
	l.set(self(t, "many"))
	l.call("mcp/self/echo", `{}`)
	l.fails("mcp/self/many", `{}`, fault.Unknown, "too many values")

	for name, kind := range map[string]string{"a whole answer": "application/json", "a stream": "text/event-stream; charset=utf-8"} {
		t.Run(name, func(t *testing.T) {
			at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				raw, err := io.ReadAll(r.Body)
				var answer string
				switch {
				case err != nil || r.Method != http.MethodPost:
					w.WriteHeader(http.StatusMethodNotAllowed)
					return
				case bytes.Contains(raw, []byte(`"initialize"`)):
					answer = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`
				case bytes.Contains(raw, []byte(`"tools/list"`)):
					answer = `{"tools":[{"name":"many","inputSchema":{"type":"object"}}]}`
				case bytes.Contains(raw, []byte(`"tools/call"`)):
					answer = `{"content":[],"structuredContent":` + manyValues + `}`
				case !bytes.Contains(raw, []byte(`"id"`)):
					w.WriteHeader(http.StatusAccepted)
					return
				default:
					w.WriteHeader(http.StatusNotFound)
					return
				}
				_, id, _ := bytes.Cut(raw, []byte(`"id":`))
				id = id[:bytes.IndexAny(id, ",}")]
				answer = `{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + answer + `}`
				if strings.HasPrefix(kind, "text/") {
					answer = "data: " + answer + "\n\n"
				}
				w.Header().Set("Content-Type", kind)
				_, _ = io.WriteString(w, answer)
			}))
			t.Cleanup(at.Close)
			l.set(Server{ID: "far", URL: at.URL})
			l.fails("mcp/far/many", `{}`, fault.Unknown)
		})
	}
}
