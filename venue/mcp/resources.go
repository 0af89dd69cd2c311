package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/caps/value"
	"usher/tools/content"
	"usher/tools/fault"
)

// Resource is an operation that is offered as a resource, or as a template of some, to
// whoever could call it. Its output is content of the resource, see [content.Output], or
// else the resource itself: a text as it is, any other value as JSON.
type Resource struct {
	// URI is the address. In a template {name} stands for a segment and {+name} for
	// several (RFC 6570); what stands there is the input of the operation.
	URI string

	Name, Description, MIME string
	Operation               string // path

	form *regexp.Regexp
	vars []string
}

// valueRoot is where the values of the caller's namespace lie.
const valueRoot = "usher:///"

// opRead reads a value.
const opRead = "v/ops/covia/read"

// values are those of the caller's own namespace.
var values = Resource{
	URI: valueRoot + "{+path}", Name: "value", Description: "A value of your namespace, for example " + valueRoot + "w/notes/today.",
	MIME: "application/json", Operation: opRead,
}

var variable = value.Form(`\{(\+?)([A-Za-z]+)\}`)

// compile reads the template.
func (r *Resource) compile() error {
	var form strings.Builder
	form.WriteString("^")
	last := 0
	r.vars = nil
	for _, at := range variable().FindAllStringSubmatchIndex(r.URI, -1) {
		form.WriteString(regexp.QuoteMeta(r.URI[last:at[0]]))
		if at[2] < at[3] {
			form.WriteString("(.+)")
		} else {
			form.WriteString("([^/]+)")
		}
		r.vars, last = append(r.vars, r.URI[at[4]:at[5]]), at[1]
	}
	form.WriteString(regexp.QuoteMeta(r.URI[last:]) + "$")
	var err error
	r.form, err = regexp.Compile(form.String())
	return err
}

// input is the input of the operation for an address; nil where that is another's.
func (r *Resource) input(uri string) map[string]string {
	found := r.form.FindStringSubmatch(uri)
	if found == nil {
		return nil
	}
	in := make(map[string]string, len(r.vars))
	for i, name := range r.vars {
		v, err := url.PathUnescape(found[i+1])
		if err != nil {
			return nil
		}
		in[name] = v
	}
	return in
}

// maxAddress bounds the address of a resource, in bytes: subscriptions keep it.
const maxAddress = 8 << 10

// find returns what an address means.
func (d *desk) find(uri string) (*Resource, map[string]string, error) {
	if len(uri) > maxAddress {
		return nil, nil, fault.New(fault.InvalidInput, fmt.Sprintf("the address of the resource has %d bytes, at most %d", len(uri), maxAddress))
	}
	for i := len(d.resources) - 1; i >= 0; i-- {
		if in := d.resources[i].input(uri); in != nil {
			return &d.resources[i], in, nil
		}
	}
	return nil, nil, fault.New(fault.NotFound, "there is no resource of that address: list them (resources/list, resources/templates/list)")
}

// Bounds of the list of resources.
const (
	maxRoots  = 16
	maxListed = 200
)

// listResources lists the resources, on one page: those of operations, and of the values
// what lies at the top of what the caller may read.
func (d *desk) listResources(ctx context.Context, c *caller, params *sdk.ListResourcesParams) (sdk.Result, error) {
	if params != nil && params.Cursor != "" {
		return nil, errCursor
	}
	list := &sdk.ListResourcesResult{Resources: []*sdk.Resource{}, Cacheable: sdk.Cacheable{CacheScope: private}}
	for i := range d.resources {
		if r := &d.resources[i]; len(r.vars) == 0 {
			if _, err := c.Operation(ctx, r.Operation); err == nil {
				list.Resources = append(list.Resources, &sdk.Resource{URI: r.URI, Name: r.Name, Description: r.Description, MIMEType: r.MIME})
			}
		}
	}
	roots, err := d.roots(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, root := range roots {
		below, err := d.children(ctx, c, root)
		if err != nil {
			return nil, err
		}
		for _, name := range below {
			path := root + "/" + name
			list.Resources = append(list.Resources, &sdk.Resource{URI: address(path), Name: path, MIMEType: values.MIME})
		}
	}
	return list, nil
}

// address is that of a value.
func address(path string) string {
	segs := strings.Split(path, "/")
	for i, s := range segs {
		segs[i] = url.PathEscape(s)
	}
	return valueRoot + strings.Join(segs, "/")
}

// roots are the highest paths of values that the caller may read.
func (d *desk) roots(ctx context.Context, c *caller) (list []string, err error) {
	set, err := c.Capabilities(ctx)
	if err != nil {
		return nil, err
	}
	if set.IsUnrestricted() {
		return []string{"w"}, nil
	}
	for held := range set.All() {
		root := strings.TrimSuffix(held.With(), "/")
		if root == "" {
			root = "w"
		}
		if strings.Split(root, "/")[0] != "w" || slices.Contains(list, root) {
			continue
		}
		if list = append(list, root); len(list) == maxRoots {
			break
		}
	}
	return list, nil
}

// children are the names below a path that the caller may list; none where nothing has
// names there.
func (d *desk) children(ctx context.Context, c *caller, path string) ([]string, error) {
	in := map[string]any{"path": path, "limit": maxListed}
	ruling, err := c.Decide(ctx, "covia:list", in)
	if err != nil || ruling.Denial() != nil {
		return nil, nil //nolint:nilerr // what may not be listed is not
	}
	raw, err := c.Invoke(ctx, "covia:list", in)
	if err != nil {
		return nil, err
	}
	var page struct {
		Keys []string `json:"keys"`
	}
	err = json.Unmarshal(raw, &page)
	return page.Keys, err
}

// listTemplates lists the templates, which say nothing of what there is.
func (d *desk) listTemplates(params *sdk.ListResourceTemplatesParams) (sdk.Result, error) {
	if params != nil && params.Cursor != "" {
		return nil, errCursor
	}
	list := &sdk.ListResourceTemplatesResult{ResourceTemplates: []*sdk.ResourceTemplate{}, Cacheable: sdk.Cacheable{CacheScope: private}}
	for i := range d.resources {
		if r := &d.resources[i]; len(r.vars) > 0 {
			list.ResourceTemplates = append(list.ResourceTemplates, &sdk.ResourceTemplate{URITemplate: r.URI, Name: r.Name, Description: r.Description, MIMEType: r.MIME})
		}
	}
	return list, nil
}

// mayRead says why the caller may not read a resource now. It records nothing.
func (d *desk) mayRead(ctx context.Context, c *caller, uri string) error {
	r, in, err := d.find(uri)
	if err != nil {
		return err
	}
	return c.Still(ctx, r.Operation, in)
}

// hear notes the resources that a subscription names, or says why the caller may not hear of
// them.
func (d *desk) hear(ctx context.Context, c *caller, params *sdk.SubscriptionsListenParams) error {
	if params == nil || params.Notifications == nil {
		return nil // the SDK refuses it
	}
	for _, uri := range params.Notifications.ResourceSubscriptions {
		if err := cmp.Or(d.mayRead(ctx, c, uri), c.server.watch(uri, true)); err != nil {
			return err
		}
	}
	d.listeners.wake(c.DID())
	return nil
}

func (d *desk) readResource(ctx context.Context, c *caller, params *sdk.ReadResourceParams) (sdk.Result, error) {
	r, in, err := d.find(params.URI)
	if err != nil {
		return nil, err
	}
	input, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	m := &message{"resources/read", params.URI, input, params.GetProgressToken(), params.InputResponses, params.RequestState}
	out, asks, err := d.operate(ctx, c, m, r.Operation)
	if err != nil {
		return nil, err
	}
	if asks != nil {
		return asks, nil
	}
	contents, err := r.contents(params.URI, out)
	if err != nil {
		return nil, err
	}
	return answerOf(c, map[string]any{"contents": contents, "cacheScope": private, "ttlMs": 0}), nil
}

// contents are what a resource is.
func (r *Resource) contents(uri string, out json.RawMessage) ([]any, error) {
	if r.Operation == opRead {
		var found struct {
			Exists    bool
			Truncated bool
			Size      int64
			Value     json.RawMessage
		}
		switch err := json.Unmarshal(out, &found); {
		case err != nil:
			return nil, err
		case !found.Exists:
			return nil, fault.New(fault.NotFound, "there is no value at that address")
		case found.Truncated:
			return nil, fault.New(fault.TooLarge, fmt.Sprintf("the value has %d bytes: read it in pieces (covia_list, covia_slice)", found.Size))
		}
		out = found.Value
	}
	var as content.Output
	if json.Unmarshal(out, &as) == nil && len(as.Content) > 0 && as.Content[0]["resource"] != nil {
		list := make([]any, len(as.Content))
		for i, block := range as.Content {
			list[i] = block["resource"]
		}
		return list, nil
	}
	media, said := r.MIME, plain(out)
	if said != string(out) {
		media = "text/plain"
	}
	return []any{map[string]any{"uri": uri, "mimeType": media, "text": said}}, nil
}

// complete completes the path of a value by what lies next to it.
func (d *desk) complete(ctx context.Context, c *caller, params *sdk.CompleteParams) (sdk.Result, error) {
	if params.Ref == nil || params.Argument.Name == "" {
		return nil, fault.New(fault.InvalidInput, "ref and argument.name are needed")
	}
	found := []string{}
	if params.Ref.URI == values.URI && params.Argument.Name == "path" {
		dir, begun := "", params.Argument.Value
		if i := strings.LastIndexByte(begun, '/'); i >= 0 {
			dir, begun = begun[:i], begun[i+1:]
		}
		if dir != "" {
			names, err := d.children(ctx, c, dir)
			if err != nil {
				return nil, err
			}
			for _, name := range names {
				if strings.HasPrefix(name, begun) && len(found) < 100 {
					found = append(found, dir+"/"+name)
				}
			}
		}
	}
	return answerOf(c, map[string]any{"completion": map[string]any{"values": found, "total": len(found), "hasMore": false}}), nil
}
