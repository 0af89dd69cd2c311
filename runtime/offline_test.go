package runtime_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
	"usher/runtime/offline"
)

// ask returns the text and the calls that the model answers with.
func offlineAsk(t *testing.T, messages ...runtime.Message) (text string, calls []string) {
	t.Helper()
	for chunk, err := range (offline.Model{}).Generate(t.Context(), &runtime.Request{Messages: messages}) {
		if err != nil {
			t.Fatal(err)
		}
		text += chunk.Text
		if chunk.Call != nil {
			if !json.Valid([]byte(chunk.Call.Arguments)) {
				t.Errorf("arguments of %s are no JSON: %s", chunk.Call.Name, chunk.Call.Arguments)
			}
			calls = append(calls, chunk.Call.Name+" "+strings.TrimSpace(chunk.Call.Arguments))
		}
	}
	return text, calls
}

func TestInstructions(t *testing.T) {
	for _, tc := range []struct {
		say  string
		want []string
	}{
		{"read w/a", []string{`covia_read {"path":"w/a"}`}},
		{"READ  w/Acme Corp ", []string{`covia_read {"path":"w/Acme Corp"}`}},
		{"write w/a Good morning", []string{`covia_write {"path":"w/a","value":"Good morning"}`}},
		{`write w/a {"n": 1}`, []string{`covia_write {"path":"w/a","value":{"n":1}}`}},
		{"Please:\nlist w/\ndelete w/a", []string{`covia_list {"path":"w/"}`, `covia_delete {"path":"w/a"}`}},
		{"copy w/a w/b", []string{`covia_copy {"from":"w/a","to":"w/b"}`}},
		{"ask Bob 42", []string{`agent_request {"agentId":"Bob","input":"42"}`}},
		{"tell Bob hello there", []string{`agent_message {"agentId":"Bob","message":"hello there"}`}},
		{`call o_pipe {"n":1}`, []string{`o_pipe {"n":1}`}},
	} {
		messages := []runtime.Message{{Role: runtime.RoleUser, Text: tc.say}}
		var calls []string
		for {
			_, next := offlineAsk(t, messages...)
			if len(next) == 0 {
				break
			}
			calls = append(calls, next...)
			messages = append(messages, runtime.Message{Role: runtime.RoleAssistant}, runtime.Message{Role: runtime.RoleTool})
		}
		if diff := cmp.Diff(tc.want, calls); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tc.say, diff)
		}
	}
}

func TestOfflineAnswers(t *testing.T) {
	user := runtime.Message{Role: runtime.RoleUser, Text: "read w/a"}
	result := func(text string) runtime.Message {
		return runtime.Message{Role: runtime.RoleTool, Name: "covia_read", Text: text}
	}
	for _, tc := range []struct {
		name     string
		messages []runtime.Message
		want     string
	}{
		{"a result", []runtime.Message{user, result(`{"exists":true}`)}, `covia_read: {"exists":true}`},
		{"a denial", []runtime.Message{user, result(`{"error":"capability_denied","message":"Capability denied: …","hint":"You may …"}`)}, "Capability denied: …\nYou may …"},
		{"not understood", []runtime.Message{{Role: runtime.RoleUser, Text: "Good morning"}}, "I am the offline model"},
		{"half an instruction", []runtime.Message{{Role: runtime.RoleUser, Text: "write w/a"}}, "write needs path and value: write w/a"},
		{"nothing said", nil, "I am the offline model"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text, calls := offlineAsk(t, tc.messages...)
			if !strings.HasPrefix(text, tc.want) || len(calls) > 0 {
				t.Errorf("it says %q and calls %v, want %q", text, calls, tc.want)
			}
		})
	}
}

func TestProviderTakesNoSettings(t *testing.T) {
	_, err := offline.Provider(t.Context(), runtime.ModelConfig{Name: "m", Provider: offline.Name, Settings: map[string]any{"temperature": 1}})
	if err == nil || !strings.Contains(err.Error(), `"temperature"`) {
		t.Errorf("Provider with a setting: %v, want an error that names it", err)
	}
}
