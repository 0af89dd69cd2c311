package wrap

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// idForm is that of the ids which a venue gives to jobs and sessions: ULIDs.
var idForm = regexp.MustCompile(`\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b`)

// idMark frames the number of an id in a text that is compared. Nothing else in
// such a text can be one: it spells control characters.
const idMark = "\x00"

// numbered puts the number of its first appearance in the place of each id, so
// that texts which differ in ids alone are the same, and returns the ids.
func numbered(text string) (string, []string) {
	var ids []string
	out := idForm.ReplaceAllStringFunc(text, func(id string) string {
		n := slices.Index(ids, id)
		if n < 0 {
			n = len(ids)
			ids = append(ids, id)
		}
		return idMark + "id " + strconv.Itoa(n+1) + idMark
	})
	return out, ids
}

// readable is a numbered text for people.
func readable(text string) string { return strings.ReplaceAll(text, idMark, "") }

// translate puts the ids of one run in the places of another's, in the text
// that the parts make together: an id may come in pieces.
func translate(from, to []string, parts ...*string) {
	pairs := make([]string, 0, 2*len(from))
	whole := ""
	for i := range from {
		pairs = append(pairs, from[i], to[i])
	}
	for _, p := range parts {
		whole += *p
	}
	whole = strings.NewReplacer(pairs...).Replace(whole) // of one length: the pieces stay what they are
	for _, p := range parts {
		*p, whole = whole[:len(*p)], whole[len(*p):]
	}
}

// translated is the episode with the ids of the run that it is played in.
func (e *episode) translated(from, to []string) *episode {
	if slices.Equal(from, to) {
		return e
	}
	out := *e
	out.Chunks = slices.Clone(e.Chunks)
	for i := range out.Chunks {
		if c := out.Chunks[i].Call; c != nil {
			call := *c
			out.Chunks[i].Call = &call
		}
	}
	if e.Error != nil {
		failure := *e.Error
		out.Error = &failure
	}
	out.answerTexts(func(parts ...*string) { translate(from, to, parts...) })
	return &out
}
