package openai_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"usher/runtime"
	"usher/runtime/endpoint"
	"usher/runtime/openai"
)

// A server on this machine, such as Ollama, needs no key.
func ExampleNew() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Good \"}}]}\n\n"+
			"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"morning.\"},\"finish_reason\":\"stop\"}]}\n\n"+
			"data: [DONE]\n\n")
	}))
	defer server.Close()

	m, err := openai.New(openai.Options{Options: endpoint.Options{Model: "qwen3", BaseURL: server.URL + "/v1"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	use := func(m *openai.Model) {
		defer m.Close()
		req := &runtime.Request{Messages: []runtime.Message{{Role: runtime.RoleUser, Text: "Greet me."}}}
		for chunk, err := range m.Generate(context.Background(), req) {
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Print(chunk.Text)
		}
	}
	use(m)
	// Output: Good morning.
}
