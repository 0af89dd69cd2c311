package endpoint

import (
	"encoding/base64"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"usher/caps/value"
	"usher/runtime"
)

// Bounds of what a server says, in bytes.
const (
	MaxMessage = 1000     // of its texts that are shown
	maxID      = 64 << 10 // of its ids: some servers keep what a model thought in them
	maxWord    = 100
)

// clean makes a server's text fit to be shown: one line of valid characters,
// without the secrets, which servers do repeat in their errors, and not too long.
func (x *Exchange) clean(text string) string { return x.cleanText(unescape(text), MaxMessage) }

// CleanID is clean of an id: it goes back to the server, and is long sometimes.
func (x *Exchange) CleanID(id string) string { return x.cleanText(id, maxID) }

// ToolName cleans the name of a tool that the server says is called. One that
// was offered is what the gate has to be asked for, whatever it holds.
func (x *Exchange) ToolName(name string, offered []runtime.Tool) string {
	if slices.ContainsFunc(offered, func(t runtime.Tool) bool { return t.Name == name }) {
		return name
	}
	return x.CleanID(name)
}

// Word cleans what should be a word, such as why an answer ended.
func (x *Exchange) Word(said string) string {
	said = x.clean(said)
	return strings.ToValidUTF8(said[:min(len(said), maxWord)], "")
}

func (x *Exchange) cleanText(text string, most int) string {
	// The secrets first: the other way round, half of one could stay.
	text = strings.Join(strings.Fields(strings.ToValidUTF8(x.hide(text), "\uFFFD")), " ")
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " …"
}

// escapes are how JSON may spell what need not be escaped, and keys do hold: some
// servers write / + = < > & so. A text within a text has more than one backslash.
var escapes = value.Form(`\\+(?:/|u00[2-7][0-9A-Fa-f])`)

func unescape(text string) string {
	return escapes().ReplaceAllStringFunc(text, func(e string) string {
		if e = strings.TrimLeft(e, `\`); e == "/" {
			return e
		}
		n, _ := strconv.ParseUint(e[1:], 16, 8) // the pattern has only such
		return string(rune(n))
	})
}

// Tokens is a server's count of tokens within reason, so that no sum of counts
// is a refund or wraps around.
func Tokens(n int) int {
	const most = min(1<<40, math.MaxInt/4)
	return min(max(n, 0), most)
}

// Redactor returns what takes secrets out of a text: whole values of headers, and
// the credentials in them, as they stand there, in JSON, in a URL and in Base64.
func Redactor(secrets ...string) func(string) string {
	for _, secret := range secrets {
		scheme, credential, _ := strings.Cut(secret, " ")
		credential = strings.TrimSpace(credential) // "Bearer …"
		secrets = append(secrets, credential)
		if raw, err := base64.StdEncoding.DecodeString(credential); err == nil && strings.EqualFold(scheme, "Basic") {
			_, password, _ := strings.Cut(string(raw), ":")
			secrets = append(secrets, string(raw), password)
		}
	}
	var spellings []string
	for _, secret := range secrets {
		if secret = strings.TrimSpace(secret); secret != "" {
			raw := []byte(secret)
			spellings = append(spellings, secret, url.QueryEscape(secret), url.PathEscape(secret),
				base64.StdEncoding.EncodeToString(raw), base64.RawURLEncoding.EncodeToString(raw))
		}
	}
	return value.Hide(spellings...)
}
