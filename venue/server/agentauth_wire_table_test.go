package server_test

import (
	_ "embed"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

//go:embed testdata/wire/table.txt
var table string

// row is a line of the table.
type row struct {
	request, name, code, after string
	status                     int
}

func rows(t *testing.T) (list []row) {
	t.Helper()
	for line := range strings.Lines(table) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "|")
		if len(f) != 5 {
			t.Fatalf("%q is no row", line)
		}
		for i := range f {
			if f[i] = strings.TrimSpace(f[i]); f[i] == "-" {
				f[i] = ""
			}
		}
		status, err := strconv.Atoi(f[2])
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		list = append(list, row{f[0], f[1], f[3], f[4], status})
	}
	return list
}

// cases are the tests of rows, by their requests and names. Each makes the request of its
// row, last, and returns the answer.
var cases = map[string]map[string]func(w *wire) visitorReply{}

// TestTable holds the endpoints of a venue to a table of what each answers, over HTTP: each row
// holds, and each has a test.
func TestTable(t *testing.T) {
	listed := map[string][]string{}
	for _, row := range rows(t) {
		if slices.Contains(listed[row.request], row.name) {
			t.Errorf("%s, %s stands there twice", row.request, row.name)
		}
		listed[row.request] = append(listed[row.request], row.name)
		t.Run(row.request+"/"+row.name, func(t *testing.T) {
			test := cases[row.request][row.name]
			if test == nil {
				t.Fatal("the row has no test")
			}
			w := openWire(t)
			r := test(w)
			if r.status != row.status || r.code != row.code {
				t.Errorf("%d %s, want %d %s: %.400s", r.status, r.code, row.status, row.code, r.text)
			}
			if r.code != "" && r.body["message"] == "" {
				t.Error("the refusal says nothing")
			}
			want := `AgentAuth discovery="` + w.url + `/.well-known/agent-configuration"`
			if got := r.header.Get("WWW-Authenticate"); (got == want) != (r.status == http.StatusUnauthorized) {
				t.Errorf("%d with the challenge %q", r.status, got)
			}
			if row.after != "" {
				if after := w.standing(); after != row.after {
					t.Errorf("afterwards the agent is %s, want %s", after, row.after)
				}
			}
		})
	}
	for request, list := range cases {
		for name := range list {
			if !slices.Contains(listed[request], name) {
				t.Errorf("%s, %s has a test and no row", request, name)
			}
		}
	}
}
