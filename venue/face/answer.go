package face

import (
	"net/http"

	"usher/caps/value"
)

// JSON is the media type of answers.
const JSON = "application/json"

// Answer sends a result as JSON, under a media type of that. Nobody but the caller may keep it.
func Answer(w http.ResponseWriter, media string, status int, result any) error {
	raw, err := value.Encode(result)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", media)
	h.Set("Cache-Control", "private, no-store")
	w.WriteHeader(status)
	_, _ = w.Write(raw) // a caller who is gone is told nothing
	return nil
}
