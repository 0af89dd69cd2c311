package reach

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// maxAnswer is how much of an answer to [Post] is read, in bytes.
const maxAnswer = 4 << 10

// Client follows no redirect: where it leads, nobody has looked.
func Client(by http.RoundTripper) *http.Client {
	return &http.Client{Transport: by, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Post makes one request, whose answer is of no account unless it is none of success.
// Its errors repeat nothing of the URL but the host.
func Post(ctx context.Context, client *http.Client, to string, head http.Header, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return errors.New("its url is none") // the error repeats it, and it may hold a password
	}
	req.Close = true // the next may come in a week
	req.Header = head
	req.Header.Set("User-Agent", "usher")
	resp, err := client.Do(req)
	if of, ok := errors.AsType[*url.Error](err); ok {
		err = of.Err
	}
	if err != nil {
		return fmt.Errorf("%s: %w", req.URL.Host, err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, maxAnswer) // what it says tells nothing
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s: it answers %s", req.URL.Host, resp.Status)
	}
	return nil
}
