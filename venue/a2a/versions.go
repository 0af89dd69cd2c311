package a2a

import (
	"slices"
	"strings"
)

// Versions of the protocol.
const (
	modern = "1.0"
	legacy = "0.3"
)

// Headers of the protocol (section 3.2.6, and those of 0.3).
const (
	versionHeader    = "A2A-Version"
	extensionsHeader = "A2A-Extensions"
	oldExtensions    = "X-A2A-Extensions"
)

// maxExtensions bounds what a request names.
const maxExtensions = 32

// agree reads the version and the extensions of a request, and says in the answer which are
// meant. One without a version is of 0.3 (section 3.6.2).
func (c *call) agree() error {
	asked := c.r.Header.Get(versionHeader)
	if asked == "" {
		asked = c.r.URL.Query().Get(versionHeader)
	}
	h := c.w.Header()
	h.Add("Vary", versionHeader+", "+extensionsHeader)
	c.version = modern
	switch {
	case asked == "", isOf(asked, legacy):
		c.version = legacy
	case !isOf(asked, modern):
		return errVersion
	}
	h.Set(versionHeader, c.version)
	for _, name := range []string{extensionsHeader, oldExtensions} {
		for _, value := range c.r.Header.Values(name) {
			for uri := range strings.SplitSeq(value, ",") {
				uri = strings.TrimSpace(uri)
				if !slices.Contains(c.extensions, uri) && len(c.extensions) < maxExtensions && c.face.knows(uri) {
					c.extensions = append(c.extensions, uri)
				}
			}
		}
	}
	if len(c.extensions) > 0 {
		name := extensionsHeader
		if c.version == legacy {
			name = oldExtensions
		}
		h.Set(name, strings.Join(c.extensions, ", "))
	}
	return nil
}

// isOf reports whether a version is major.minor, or a patch of it.
func isOf(version, of string) bool {
	return version == of || strings.HasPrefix(version, of+".")
}
