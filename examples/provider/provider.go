package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"

	"usher/runtime"
)

// lines is a provider: it makes the model that an entry of models describes.
func lines(_ context.Context, cfg runtime.ModelConfig) (runtime.Model, error) {
	url, ok := cfg.Settings["url"].(string)
	if !ok || len(cfg.Settings) != 1 {
		return nil, fmt.Errorf("provider %s takes one setting: write url: http://…", cfg.Provider)
	}
	return model(url), nil
}

// model asks a server that answers in lines of JSON.
type model string

type line struct {
	Text string             // a piece of the answer,
	Call *runtime.CallDelta // or a tool call, or a piece of one
	Used *runtime.Usage     // so far
	End  string             // why the answer ended: only in its last line
}

func (url model) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		body, err := json.Marshal(req) // the system message, the conversation, the tools on offer
		ask, badURL := http.NewRequestWithContext(ctx, http.MethodPost, string(url), bytes.NewReader(body))
		if err = errors.Join(err, badURL); err != nil {
			yield(runtime.Chunk{}, err)
			return
		}
		answer, err := http.DefaultClient.Do(ask)
		if err != nil {
			yield(runtime.Chunk{}, err)
			return
		}
		defer answer.Body.Close() // stops the server, where the consumer leaves early
		for from := json.NewDecoder(answer.Body); ; {
			var l line
			if err := from.Decode(&l); err != nil { // the end of the body too: a last line says End
				yield(runtime.Chunk{}, fmt.Errorf("the answer (%s) broke off: %w", answer.Status, err))
				return
			}
			if !yield(runtime.Chunk{Text: l.Text, Call: l.Call, Usage: l.Used, Finish: l.End}, nil) || l.End != "" {
				return
			}
		}
	}
}
