package models

import (
	"context"
	"crypto/rand"
	"log/slog"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"usher/runtime"
	"usher/runtime/offline"
	"usher/tools/secrets"
	"usher/venue/keys"
	"usher/venue/store/memory"
)

// newKeyed makes a model by a provider that reads the secret KEY, before there
// is one. made is called when the provider has a key, with how it is read.
func newKeyed(t *testing.T, made func(read func() error)) (*keyed, *owned) {
	t.Helper()
	st := memory.Open()
	t.Cleanup(func() { _ = st.Close() })
	ring, err := keys.Open(t.Context(), st.Under("k/"), "", rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := &owned{ring.Secrets(st.Under("s/"), time.Now), ring.Venue().DID(), slog.New(slog.DiscardHandler)}
	provider := func(ctx context.Context, cfg runtime.ModelConfig) (runtime.Model, error) {
		read := func() error {
			_, err := cfg.Secret(ctx, "KEY")
			return err
		}
		if err := read(); err != nil {
			return nil, err
		}
		if cfg.StandIn == "" {
			made(read)
		}
		return offline.Model{}, nil
	}
	m, err := s.model(t.Context(), runtime.Providers{"p": provider}, runtime.ModelConfig{Name: "m", Provider: "p"})
	if err != nil {
		t.Fatal(err)
	}
	k, ok := m.(*keyed)
	if !ok {
		t.Fatalf("the model is a %T", m)
	}
	return k, s
}

func (s *owned) set(t *testing.T, key string) {
	t.Helper()
	if err := s.vault.(*keys.Secrets).Set(t.Context(), s.owner, "KEY", secrets.Value(key)); err != nil {
		t.Fatal(err)
	}
}

// Turns at once that find a new key have one model made of it.
func TestAModelIsMadeOnceForAll(t *testing.T) {
	const turns = 8
	var times atomic.Int32
	making, goOn := make(chan struct{}, turns), make(chan struct{})
	k, s := newKeyed(t, func(func() error) {
		times.Add(1)
		making <- struct{}{}
		<-goOn
	})
	s.set(t, "first")
	var begun, ended sync.WaitGroup
	begun.Add(turns)
	for range turns {
		ended.Go(func() {
			begun.Done()
			if _, err := k.current(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	begun.Wait()
	<-making
	for range 10_000 { // lets the others come as far as they get
		goruntime.Gosched()
	}
	close(goOn)
	ended.Wait()
	if n := times.Load(); n != 1 {
		t.Errorf("the model was made %d times for one secret", n)
	}
}

// A provider that reads the secret again later changes nothing of what its model
// was made with.
func TestAProviderThatGoesOnReading(t *testing.T) {
	times := 0
	var again func() error
	k, s := newKeyed(t, func(read func() error) { times, again = times+1, read })
	for i, key := range []string{"first", "second"} {
		s.set(t, key)
		if again != nil {
			if err := again(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := k.current(t.Context()); err != nil || times != i+1 {
			t.Errorf("with the %s secret the model was made %d times, %v", key, times, err)
		}
	}
}

// A model that stands in for a missing key is not to be found below.
func TestAStandInIsNotUnwrapped(t *testing.T) {
	k := new(keyed)
	for _, standIn := range []bool{true, false} {
		k.now.Store(&made{model: offline.Model{}, standIn: standIn})
		if _, ok := runtime.As[offline.Model](k); ok == standIn {
			t.Errorf("with a stand-in %t, the model below is found: %t", standIn, ok)
		}
	}
}
