//go:build !windows

package cli_test

import (
	"path/filepath"
	"testing"
)

// A call that needs a person is a question in the chat, until it is answered: with limits
// that are none, it stands.
func TestChatAsksForAnApproval(t *testing.T) {
	s := chat(t, filepath.Dir(project(t, `models: {default: {provider: offline}}
agents:
  - {id: clerk, tools: [covia:read, covia:write], caps: [{with: w/refunds/, can: crud, ask: true}]}
`)), nil)
	s.ready()
	s.press("write w/refunds/1 500\r")
	const question = "allow this call?"
	s.see("v/ops/covia/write", question)
	for _, wrong := range [][2]string{{`{"/value":{"min":600}}`, "would be wider than the call"}, {`{"value":1}`, "begins with a slash"}} {
		s.press(wrong[0] + "\r")
		s.see(wrong[1], question)
	}
	s.press(`{"/value":{"max":100}}` + "\r")
	s.see("is at most 100, once, in this run")
	s.ready()
	s.press("write w/refunds/2 5\r")
	s.see(question)
	s.press("y\r")
	s.ready()
	s.press("read w/refunds/2\r")
	s.see(question)
	s.press("n\r")
	s.see("a person has refused this call")
	s.ready()
	s.press("\x04")
	s.ends(0)
}
