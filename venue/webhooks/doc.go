// Package webhooks is the room of a venue for signed requests of HTTP (Standard Webhooks):
// those that come in and start something, which [Inbox.Receive] takes, and those that go out
// and tell of runs, which [Outbox.Run] sends. [Pushes.Run] tells whoever follows one run of
// that, at an address of theirs.
//
// A request that comes in starts a job of the configuration's user, bounded by the
// capabilities of its entry, once for its webhook-id. What goes out is stored in one batch
// with what it tells of, and stays until it is received or [MaxAge] old: it may come twice,
// with the same webhook-id, and in any order.
//
// # Keys
//
//	h/in/<digest>                               what a request has started
//	h/at/<second, 12 digits>/<digest>           when that was
//	h/out/<webhook>/<time, ms, 15 digits>/<id>  what is to be sent then
//	h/push/<owner>/<run>/<id>                   an address that is told of one run
package webhooks

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"usher/ucan"
)

// Secrets reads a secret of a user, as it is now.
type Secrets func(ctx context.Context, owner ucan.DID, name string) (string, error)

// Bounds of a secret that signs, in bytes, by the specification.
const (
	minSecret = 24
	maxSecret = 64
)

var errSecret = errors.New("the secret is none of a webhook: give whsec_ and 24 to 64 bytes in base64")

// signer is what signs with the secret that an entry names.
func (s Secrets) signer(ctx context.Context, owner ucan.DID, reference string) (*standardwebhooks.Webhook, error) {
	text, err := s(ctx, owner, strings.TrimPrefix(reference, "secret:"))
	if err != nil {
		return nil, err
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "whsec_"))
	if err != nil || len(key) < minSecret || len(key) > maxSecret {
		return nil, errSecret
	}
	return standardwebhooks.NewWebhookRaw(key)
}
