package caps

import "strings"

// didPrefix begins every resource that names its owner. Canonical text holds it
// in lower case only, and a bare resource never begins with it.
const didPrefix = "did:"

// schemeRoot ends the canonical text of a bare "scheme://". It is kept one slash
// short, so that the rule for covering (equal, or followed by a slash) holds for
// it as for any other resource.
const schemeRoot = ":/"

// Resource is a canonical place: bare (w/notes, in whoever's namespace the call
// is made), absolute (did:key:z…/w/notes), or a URI (file://scratch/a). It is
// comparable with ==. The zero value is the root of the namespace.
type Resource struct{ text string }

// String returns the canonical text, which [ParseResource] reads back. The root
// is "".
func (r Resource) String() string {
	if r.isSchemeRoot() {
		return r.text + "/"
	}
	return r.text
}

// IsRoot reports whether r is the root of the namespace.
func (r Resource) IsRoot() bool { return r.text == "" }

// Covers reports whether q is r or lies below it, by segment. The root covers
// every resource but those of another principal, which name their DID.
func (r Resource) Covers(q Resource) bool {
	if r.text == "" {
		return !q.absolute()
	}
	return coversText(r.text, q.text)
}

// DID returns the principal whose resource this is, or "" where r does not name
// one.
func (r Resource) DID() string {
	if !r.absolute() {
		return ""
	}
	did, _, _ := strings.Cut(r.text, "/")
	return did
}

// Path returns what follows the DID, without a leading slash, or the whole text
// where there is no DID.
func (r Resource) Path() string {
	if !r.absolute() {
		return r.String()
	}
	_, path, _ := strings.Cut(r.text, "/")
	return path
}

// Segments returns the segments of [Resource.Path]; nil for the root of a
// namespace. The first segment of a URI is its scheme with both slashes.
func (r Resource) Segments() []string {
	path := r.Path()
	if path == "" {
		return nil
	}
	if scheme, rest, ok := strings.Cut(path, "://"); ok {
		segs := []string{scheme + "://"}
		if rest != "" {
			segs = append(segs, strings.Split(rest, "/")...)
		}
		return segs
	}
	return strings.Split(path, "/")
}

// In returns the bare form of a resource that names owner, a DID, and any other
// resource unchanged. It does not allocate.
func (r Resource) In(owner string) Resource {
	if !r.absolute() {
		return r
	}
	if did, path, _ := strings.Cut(r.text, "/"); did == owner {
		return Resource{path}
	}
	return r
}

func (r Resource) absolute() bool { return strings.HasPrefix(r.text, didPrefix) }

func (r Resource) isSchemeRoot() bool { return strings.HasSuffix(r.text, schemeRoot) }

// depth is the number of segments of r's path.
func (r Resource) depth() int {
	switch slashes := strings.Count(r.text, "/"); {
	case r.IsRoot():
		return 0
	case r.absolute(), r.isSchemeRoot(), strings.Contains(r.text, "://"):
		return slashes
	default:
		return slashes + 1
	}
}
