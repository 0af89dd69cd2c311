package models

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"usher/runtime"
	"usher/runtime/endpoint"
	"usher/tools/secrets"
	"usher/ucan"
)

// owned are the secrets of the user whom the configuration is for. Nil has none.
type owned struct {
	vault
	owner ucan.DID
	log   *slog.Logger
}

// value is a secret as it is now.
func (s *owned) value(ctx context.Context, name string) (string, error) {
	value, _, err := s.At(ctx, s.owner, name)
	return string(value), err
}

// standIn stands for a key that is missing, so that settings can be checked.
const standIn = "missing"

// model makes the model of cfg. One whose settings name secrets is kept in step
// with them, and may come before they do: into a venue that did not open
// without a secret nobody could put it. Nor does a key that the environment or a
// file lacks keep others from their work.
func (s *owned) model(ctx context.Context, providers runtime.Providers, cfg runtime.ModelConfig) (runtime.Model, error) {
	if s == nil {
		return providers.Model(ctx, cfg)
	}
	k := &keyed{secrets: s, providers: providers, cfg: cfg}
	m, err := k.build(ctx, "")
	if err != nil && m.missing {
		s.log.WarnContext(ctx, "model cannot answer yet", "model", cfg.Name, "error", strings.TrimPrefix(err.Error(), "model "+cfg.Name+": "))
		// Its other settings are checked now all the same.
		m, err = k.build(ctx, standIn)
	}
	if err != nil {
		return nil, err
	}
	if len(m.read) == 0 && !m.standIn {
		return m.model, nil
	}
	k.now.Store(m)
	return k, nil
}

// keyed is a model whose settings name secrets. It is made anew when one of
// these has changed: a key that was replaced or deleted counts at the next call.
type keyed struct {
	secrets   *owned
	providers runtime.Providers
	cfg       runtime.ModelConfig

	make sync.Mutex // held while the model is made
	now  atomic.Pointer[made]
}

var (
	_ runtime.Model     = (*keyed)(nil)
	_ runtime.Wrapper   = (*keyed)(nil)
	_ runtime.Describer = (*keyed)(nil)
	_ runtime.Counter   = (*keyed)(nil)
)

// made is a model, and what it was made with.
type made struct {
	model   runtime.Model
	read    map[string]uint64 // revisions of secrets, by name
	missing bool              // one of the secrets, or what the environment or a file should hold
	standIn bool              // for what is missing: the model must not be asked
}

// build makes the model with the secrets as they are now, and with standIn, if
// it is not empty, in place of those that are missing.
func (k *keyed) build(ctx context.Context, standIn string) (*made, error) {
	var mu sync.Mutex // a provider may go on reading when it has made the model
	m := made{read: make(map[string]uint64)}
	cfg := k.cfg
	cfg.StandIn = standIn
	cfg.Secret = func(ctx context.Context, name string) (string, error) {
		value, rev, err := k.secrets.At(ctx, k.secrets.owner, name)
		mu.Lock()
		defer mu.Unlock()
		m.read[name] = rev
		if _, missing := errors.AsType[*secrets.NoSecretError](err); missing {
			m.missing = true
			if standIn != "" {
				return standIn, nil
			}
		}
		return string(value), err
	}
	model, err := k.providers.Model(ctx, cfg)
	mu.Lock()
	defer mu.Unlock()
	if _, missing := errors.AsType[*endpoint.MissingError](err); missing {
		m.missing = true
	}
	return &made{model, maps.Clone(m.read), m.missing, standIn != ""}, err
}

// current returns the model as the secrets are now.
func (k *keyed) current(ctx context.Context) (runtime.Model, error) {
	if m := k.now.Load(); k.holds(ctx, m) {
		return m.model, nil
	}
	k.make.Lock()
	defer k.make.Unlock()
	if m := k.now.Load(); k.holds(ctx, m) {
		return m.model, nil
	}
	m, err := k.build(ctx, "")
	if err != nil {
		return nil, err
	}
	k.now.Store(m)
	return m.model, nil
}

// holds reports whether the model was made with the secrets as they are now.
func (k *keyed) holds(ctx context.Context, m *made) bool {
	if m.standIn {
		return false
	}
	for name, rev := range m.read {
		now, err := k.secrets.Revision(ctx, k.secrets.owner, name)
		if err != nil || now != rev {
			return false
		}
	}
	return true
}

// Generate asks the model as the secrets are now.
func (k *keyed) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		m, err := k.current(ctx)
		if err != nil {
			yield(runtime.Chunk{}, err)
			return
		}
		m.Generate(ctx, req)(yield)
	}
}

// CountTokens counts by the model as the secrets are now: a key that was
// replaced or deleted is not used to count, either. Where that model cannot
// count the error is [errors.ErrUnsupported].
func (k *keyed) CountTokens(ctx context.Context, req *runtime.Request) (int, error) {
	m, err := k.current(ctx)
	if err != nil {
		return 0, err
	}
	counter, ok := runtime.As[runtime.Counter](m)
	if !ok {
		return 0, fmt.Errorf("count tokens: %w", errors.ErrUnsupported)
	}
	return counter.CountTokens(ctx, req)
}

// About is what is known of the model, also while a secret of it is missing.
func (k *keyed) About() runtime.About { return runtime.Describe(k.now.Load().model) }

// Unwrap is the model that was made last; nil before it could be asked.
func (k *keyed) Unwrap() runtime.Model {
	if m := k.now.Load(); !m.standIn {
		return m.model
	}
	return nil
}
