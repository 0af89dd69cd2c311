package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"usher/runtime"
)

// endpoint stands for a server with a language model. It keeps notes: told
// "note PATH TEXT", it asks for covia_write, and then says what came of it.
func endpoint(w http.ResponseWriter, r *http.Request) {
	var req runtime.Request
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || len(req.Messages) == 0 {
		http.Error(w, "send a request", http.StatusBadRequest)
		return
	}
	out := json.NewEncoder(w)
	send := func(l line) {
		_ = out.Encode(l) // whoever asked may have left
		_ = http.NewResponseController(w).Flush()
	}
	last := req.Messages[len(req.Messages)-1]
	words := strings.SplitN(last.Text, " ", 3)
	switch {
	case last.Role == runtime.RoleTool && last.Failed:
		say(send, "I could not note it.")
	case last.Role == runtime.RoleTool:
		say(send, "Noted.")
	case len(words) == 3 && words[0] == "note":
		arguments := fmt.Sprintf(`{"path":%q,"value":%q}`, words[1], words[2])
		half := len(arguments) / 2
		send(line{Call: &runtime.CallDelta{ID: "call-1", Name: "covia_write", Arguments: arguments[:half]}})
		send(line{Call: &runtime.CallDelta{Arguments: arguments[half:]}})
		send(line{Used: &runtime.Usage{Input: len(req.System), Output: len(arguments)}, End: "tool_calls"})
	default:
		say(send, "Say: note w/notes/today Buy milk")
	}
}

func say(send func(line), text string) {
	for word := range strings.SplitAfterSeq(text, " ") {
		send(line{Text: word})
	}
	send(line{Used: &runtime.Usage{Output: len(text)}, End: "stop"})
}
