package runtime_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"usher/runtime/anthropic"
	"usher/runtime/endpoint"
)

const benchChunks = 1000

// recorded answers every request with one stream, without a network.
type recorded []byte

func (r recorded) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(bytes.NewReader(r)), Request: req,
	}, nil
}

// BenchmarkStream is the cost of a streamed chunk: from the bytes of the
// response to runtime.Chunk; and the same events decoded
// by the standard library alone.
func BenchmarkStream(b *testing.B) {
	var stream bytes.Buffer
	send := func(kind, line string) { fmt.Fprintf(&stream, "event: %s\ndata: %s\n\n", kind, line) }
	send("message_start", begin)
	send("content_block_start", text0)
	for n := range benchChunks {
		send("content_block_delta", delta0(fmt.Sprintf(" word%d", n)))
	}
	send("content_block_stop", stop0)
	send("message_delta", endTurn)
	send("message_stop", end)
	perChunk := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchChunks, "ns/chunk")
	}
	b.Run("usher", func(b *testing.B) {
		m, err := anthropic.New(anthropic.Options{Options: endpoint.Options{Model: "claude-test", Key: testKey, Transport: recorded(stream.Bytes())}})
		if err != nil {
			b.Fatal(err)
		}
		req := say("Hi")
		b.ReportAllocs()
		for b.Loop() {
			n := 0
			for c, err := range m.Generate(b.Context(), req) {
				if err != nil {
					b.Fatal(err)
				}
				if c.Text != "" {
					n++
				}
			}
			if n != benchChunks {
				b.Fatal(n)
			}
		}
		perChunk(b)
	})
	b.Run("stdlib", func(b *testing.B) {
		type event struct {
			Type  string `json:"type"`
			Index int    `json:"index"`
			Delta struct {
				Type     string `json:"type"`
				Text     string `json:"text"`
				Thinking string `json:"thinking"`
				Partial  string `json:"partial_json"`
			} `json:"delta"`
		}
		b.ReportAllocs()
		for b.Loop() {
			in := bufio.NewScanner(bytes.NewReader(stream.Bytes()))
			n := 0
			for in.Scan() {
				data, ok := bytes.CutPrefix(in.Bytes(), []byte("data: "))
				if !ok {
					continue
				}
				var ev event
				if err := json.Unmarshal(data, &ev); err != nil {
					b.Fatal(err)
				}
				if ev.Delta.Text != "" {
					n++
				}
			}
			if n != benchChunks {
				b.Fatal(n)
			}
		}
		perChunk(b)
	})
}
