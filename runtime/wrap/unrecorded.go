package wrap

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"usher/runtime"
)

// unrecorded is a replay whose cassette was not there when it was made. It
// looks again each time that it is asked, until there is one.
type unrecorded struct {
	file string
	opts *CassetteOptions

	mu     sync.Mutex // guards player
	player *Player
}

var _ runtime.Model = (*unrecorded)(nil)

func (u *unrecorded) open() (*Player, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.player == nil {
		player, err := open(u.file, u.opts)
		if err != nil {
			return nil, &unrecordedError{u.file, err}
		}
		u.player = player
	}
	return u.player, nil
}

func (u *unrecorded) Generate(ctx context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	player, err := u.open()
	if err != nil {
		return failing(err)
	}
	return player.Generate(ctx, req)
}

// unrecordedError is final: a replay never leads to a model that is asked.
type unrecordedError struct {
	file  string
	cause error
}

func (e *unrecordedError) Error() string {
	return fmt.Sprintf("replay %s: %v; record it first, with record in place of replay", e.file, e.cause)
}

func (e *unrecordedError) Unwrap() error { return e.cause }

// Unrecorded returns why a model of [Compose] cannot replay yet, where that is
// because its cassette is not there, and nil of any other model.
func Unrecorded(m runtime.Model) error {
	u, ok := runtime.As[*unrecorded](m)
	if !ok {
		return nil
	}
	_, err := u.open()
	return err
}
