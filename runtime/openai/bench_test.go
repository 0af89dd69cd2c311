package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"usher/runtime/endpoint"
)

func response(body []byte) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(body))}
}

// canned is a transport that always answers the same.
type canned []byte

func (c canned) RoundTrip(*http.Request) (*http.Response, error) { return response(c), nil }

const benchChunks = 1000

// benchStream is a stream as OpenAI sends it.
func benchStream() []byte {
	var b bytes.Buffer
	for n := range benchChunks {
		fmt.Fprintf(&b, `data: {"id":"chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT","object":"chat.completion.chunk","created":1741569952,"model":"gpt-5-mini","service_tier":"default","system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"delta":{"content":" word%d"},"logprobs":null,"finish_reason":null}],"usage":null}`+"\n\n", n)
	}
	b.WriteString(done)
	return b.Bytes()
}

// BenchmarkStream is the cost of a streamed chunk: from the bytes of the
// response to runtime.Chunk; and the same chunks decoded by the standard library
// alone.
func BenchmarkStream(b *testing.B) {
	stream := benchStream()
	perChunk := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchChunks, "ns/chunk")
	}
	b.Run("usher", func(b *testing.B) {
		m := benchModel(b, stream)
		b.ReportAllocs()
		for b.Loop() {
			receiveAll(b, m)
		}
		perChunk(b)
	})
	b.Run("stdlib", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			decodeAll(b, stream)
		}
		perChunk(b)
	})
}

// A chunk allocates at most twice what it takes to decode it.
func TestStreamAllocations(t *testing.T) {
	stream := benchStream()
	m := benchModel(t, stream)
	ours := testing.AllocsPerRun(3, func() { receiveAll(t, m) }) / benchChunks
	alone := testing.AllocsPerRun(3, func() { decodeAll(t, stream) }) / benchChunks
	t.Logf("%.1f allocations a chunk, the standard library alone makes %.1f", ours, alone)
	if ours > 2*alone {
		t.Errorf("a chunk makes %.1f allocations, want at most twice the standard library's %.1f", ours, alone)
	}
}

func benchModel(t testing.TB, stream []byte) *Model {
	t.Helper()
	m, err := New(Options{Options: endpoint.Options{Model: "m", Transport: canned(stream)}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func receiveAll(t testing.TB, m *Model) {
	n := 0
	for _, err := range m.Generate(t.Context(), hello) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n < benchChunks {
		t.Fatal(n)
	}
}

// decodeAll decodes a stream with the standard library alone.
func decodeAll(t testing.TB, stream []byte) {
	type chunk struct {
		Choices []struct {
			Index int `json:"index"`
			Delta struct {
				Content   string `json:"content"`
				Refusal   string `json:"refusal"`
				ToolCalls []struct {
					Index    int    `json:"index"`
					ID       string `json:"id"`
					Function struct {
						Name      string `json:"name"`
						Arguments string `json:"arguments"`
					} `json:"function"`
				} `json:"tool_calls"`
			} `json:"delta"`
			Finish string `json:"finish_reason"`
		} `json:"choices"`
		Usage *struct {
			Prompt     int `json:"prompt_tokens"`
			Completion int `json:"completion_tokens"`
		} `json:"usage"`
	}
	in := bufio.NewScanner(bytes.NewReader(stream))
	n := 0
	for in.Scan() {
		data, ok := bytes.CutPrefix(in.Bytes(), []byte("data: "))
		if !ok || string(data) == "[DONE]" {
			continue
		}
		var c chunk
		if err := json.Unmarshal(data, &c); err != nil {
			t.Fatal(err)
		}
		n += len(c.Choices)
	}
	if n < benchChunks {
		t.Fatal(n)
	}
}
