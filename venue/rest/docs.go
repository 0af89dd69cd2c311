package rest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"usher/venue"
	"usher/venue/face"
)

// routeView is a route as people are shown it.
type routeView struct {
	Method, Path, Summary string
	Input, Output         string // JSON Schemas, indented; empty where there is none
}

// docs is the page that shows the document: it loads nothing from anywhere.
var docs = face.Page("docs", `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{.Name}}: REST</title>
<style>
body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
code,pre{font:13px/1.4 ui-monospace,monospace}pre{background:#f5f5f2;padding:.6rem;overflow:auto}
summary{cursor:pointer;padding:.2rem 0}b{display:inline-block;min-width:4.2rem}
@media (prefers-color-scheme:dark){body{color:#ddd;background:#181818}pre{background:#222}a{color:#8ab4f8}}
</style>
<h1>{{.Name}}</h1>
<p>The REST face of venue <code>{{.DID}}</code>. Programs read <a href="openapi.json">openapi.json</a>. A request bears a token: <code>Authorization: Bearer TOKEN</code>. Errors are problem details (RFC 9457).</p>
{{range .Routes}}<details><summary><b>{{.Method}}</b> <code>{{.Path}}</code> {{.Summary}}</summary>
{{with .Input}}<p>Takes, in the address or the body:</p><pre>{{.}}</pre>{{end}}{{with .Output}}<p>Answers:</p><pre>{{.}}</pre>{{end}}
</details>
{{end}}</html>
`, nil)

// sendPage sends the page.
func (f *Face) sendPage(_ *venue.Principal, w http.ResponseWriter, _ *http.Request) error {
	var page bytes.Buffer
	err := docs().Execute(&page, struct {
		Name, DID string
		Routes    []routeView
	}{f.door.Venue.Name(), f.door.Venue.DID().String(), f.listed})
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	_, _ = w.Write(page.Bytes()) // a reader who is gone is told nothing
	return nil
}

// list is a route for the page.
func (f *Face) list(rt *route) routeView {
	l := routeView{Method: rt.method, Path: Prefix + strings.ReplaceAll(rt.path, "...", ""), Summary: rt.summary}
	in, out := []byte(rt.in), []byte(rt.out)
	if op := f.ops[rt.op]; op != nil {
		in, out, l.Summary = op.InputSchema(), op.OutputSchema(), op.Description()
	}
	l.Input, l.Output = indent(in), indent(out)
	return l
}

func indent(schema []byte) string {
	var b bytes.Buffer
	if len(schema) == 0 || json.Indent(&b, schema, "", "  ") != nil {
		return ""
	}
	return b.String()
}
