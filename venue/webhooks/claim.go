package webhooks

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"usher/tools/fault"
	"usher/ucan"
	"usher/venue/config"
)

var (
	// errRefused is the one answer to who cannot sign: it says neither which webhooks there
	// are, nor what was wrong.
	errRefused = fault.New(fault.Unauthenticated, "the request is refused: either there is no such webhook, or its headers webhook-id, webhook-timestamp and webhook-signature do not hold")
	errLarge   = fault.New(fault.TooLarge, "the body is too large: a webhook takes at most 1 MiB")
	errFull    = fault.New(fault.Unavailable, "as many webhooks come in as may at once: send it again in a moment")
	errCut     = fault.New(fault.InvalidInput, "the body did not come whole: send it again")
)

// claim reads the id of a request out of a head that a signature could hold for, now.
func (r *Inbox) claim(head http.Header) (id string, err error) {
	id = head.Get(standardwebhooks.HeaderWebhookID)
	sent, err := strconv.ParseInt(head.Get(standardwebhooks.HeaderWebhookTimestamp), 10, 64)
	off := r.Now().Unix() - sent
	if err != nil || id == "" || len(id) > maxID || off > int64(tolerance.Seconds()) || off < -int64(tolerance.Seconds()) {
		return "", errRefused
	}
	for signature := range strings.SplitSeq(head.Get(standardwebhooks.HeaderWebhookSignature), " ") {
		text, ours := strings.CutPrefix(signature, "v1,")
		if sum, err := base64.StdEncoding.DecodeString(text); ours && err == nil && len(sum) == sha256.Size {
			return id, nil
		}
	}
	return "", errRefused
}

// signer is what signs for an entry; nil where nobody can.
func (r *Inbox) signer(ctx context.Context, owner ucan.DID, in *config.HookIn) *standardwebhooks.Webhook {
	if in.ID == "" {
		return nil
	}
	signer, err := r.Secret.signer(ctx, owner, in.Secret)
	if err != nil {
		r.Logger.WarnContext(ctx, "a webhook cannot check who calls", "webhook", in.ID, "error", err)
		return nil
	}
	return signer
}

// read reads a body that is signed. Until the signature is known to hold nobody knows who
// sends it, so what is held of all such bodies together is bounded. What nobody can have
// signed is hashed and not held, and ends where any other would: neither that nor how long
// it takes tells which webhooks there are.
func (r *Inbox) read(body io.Reader, head http.Header, signer *standardwebhooks.Webhook) (raw []byte, err error) {
	var whole bytes.Buffer
	var come, held int64
	to := io.Writer(&whole)
	if signer == nil {
		to = hmac.New(sha256.New, r.nobody)
	}
	defer func() { r.held.Add(-held) }()
	for chunk := make([]byte, 16<<10); err == nil; {
		var n int
		n, err = body.Read(chunk)
		come += int64(n)
		together := r.held.Load() + come
		if signer != nil {
			held, together = come, r.held.Add(int64(n))
		}
		if together > maxHeld {
			return nil, errFull
		}
		_, _ = to.Write(chunk[:n]) // neither fails
	}
	_, large := errors.AsType[*http.MaxBytesError](err)
	switch {
	case large:
		return nil, errLarge
	case !errors.Is(err, io.EOF):
		return nil, errCut
	case signer == nil || signer.VerifyIgnoringTimestamp(whole.Bytes(), head) != nil:
		return nil, errRefused
	}
	return whole.Bytes(), nil
}
