package openai

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"usher/runtime"
	"usher/runtime/endpoint"
)

// What servers of the format say to a conversation that is too long, and what
// they say to something else in like words.
func TestWindow(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		body   string
		want   bool
	}{
		{"OpenAI", 400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, true},
		{"Azure", 400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, true},
		{"vLLM", 400, `{"object":"error","message":"This model's maximum context length is 6048 tokens. However, you requested 6616 tokens (568 in the messages, 6048 in the completion). Please reduce the length of the messages or completion.","type":"BadRequestError","param":null,"code":400}`, true},
		{"vLLM, of the prompt", 400, `{"error":{"message":"The decoder prompt (length 9254) is longer than the maximum model length of 4096. Make sure that max_model_len is no smaller than the number of text tokens.","type":"BadRequestError","param":null,"code":400}}`, true},
		{"vLLM, nothing left", 400, `{"object":"error","message":"max_tokens must be at least 1, got -186.","type":"BadRequestError","param":null,"code":400}`, true},
		{"SGLang", 400, `{"object":"error","message":"The input (516368 tokens) is longer than the model's context length (262144 tokens).","type":"BadRequestError","code":400}`, true},
		{"Ollama", 400, `{"error":{"message":"prompt too long; exceeded max context length by 4021 tokens","type":"invalid_request_error","param":null,"code":null}}`, true},
		{"Ollama, of the input", 500, `{"error":{"message":"the input length exceeds the context length","type":"api_error","param":null,"code":null}}`, true},
		{"llama.cpp", 400, `{"error":{"code":400,"message":"request (14429 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":14429,"n_ctx":8192}}`, true},
		{"llama.cpp, older", 500, `{"error":{"code":500,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"server_error"}}`, true},
		{"llama-cpp-python", 400, `{"error":{"message":"Requested tokens (2285) exceed context window of 2048","type":"invalid_request_error","param":null,"code":null}}`, true},
		{"OpenRouter", 400, `{"error":{"message":"This endpoint's maximum context length is 131072 tokens. However, you requested about 138956 tokens (7884 of text input, 131072 in the output). Please reduce the length of either one, or use the \"middle-out\" transform to compress your prompt automatically.","code":400}}`, true},
		{"OpenRouter, for Anthropic", 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 208310 tokens > 200000 maximum\"}}","provider_name":"Anthropic"}}}`, true},
		{"Groq", 400, `{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, true},
		{"Cerebras", 400, `{"message":"Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}`, true},
		{"DeepSeek", 400, `{"error":{"message":"This model's maximum context length is 65536 tokens. However, you requested 66343 tokens (62247 in the messages, 4096 in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, true},
		{"Mistral", 400, `{"object":"error","message":"Prompt contains 240000 tokens, too large for model with 128000 maximum context length","type":"invalid_request_prompt","param":null,"code":"3051"}`, true},
		{"xAI", 400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 200001 tokens."}`, true},
		{"Gemini", 400, `[{"error":{"code":400,"message":"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}]`, true},

		{"tokens a minute", 429, `{"error":{"message":"Rate limit reached: this model's maximum context length is not the reason","type":"tokens","code":"rate_limit_exceeded"}}`, false},
		{"tokens a minute as 413", 413, `{"error":{"message":"Request too large for model on tokens per minute (TPM): Limit 6000, Requested 7213, please reduce the length of the messages and try again.","type":"tokens","code":"rate_limit_exceeded"}}`, false},
		{"max_tokens", 400, `{"error":{"message":"Invalid max_tokens value, the valid range of max_tokens is [1, 8192]","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, false},
		{"a schema that the words stand in", 422, `{"detail":[{"loc":["body","messages"],"msg":"bad input","input":"what is the maximum context length?"}]}`, false},
		{"no key", 401, `{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`, false},
	} {
		for _, whole := range []bool{false, true} {
			t.Run(tt.name, func(t *testing.T) {
				m := serve(t, map[string]any{"stream": !whole}, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(tt.status)
					_, _ = io.WriteString(w, tt.body)
				})
				_, err := collect(t.Context(), m, hello)
				said, ok := errors.AsType[*endpoint.Error](err)
				if !ok || errors.Is(err, runtime.ErrWindow) != tt.want {
					t.Fatalf("error %v, is %v: %t, want %t", err, runtime.ErrWindow, !tt.want, tt.want)
				}
				if tt.want && (said.Temporary() || !strings.Contains(said.Error(), "less context")) {
					t.Errorf("error %v, temporary %t, want what to do and false", said, said.Temporary())
				}
			})
		}
	}
}
