package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
)

// errInterrupted is why a command ended that a person or a signal ended.
var errInterrupted = errors.New("interrupted")

// interrupts decides what Ctrl-C means while a command runs.
type interrupts struct {
	end  func() // ends the command; the next Ctrl-C ends the process at once
	stop func() // when the command is done

	mu    sync.Mutex // guards what follows
	taken func()
}

// listen returns a context that ends with the first Ctrl-C, unless a command
// takes them, where fromProcess says that they are to be listened for.
func listen(ctx context.Context, fromProcess bool) (context.Context, *interrupts) {
	ctx, cancel := context.WithCancelCause(ctx)
	i := new(interrupts)
	i.end = func() { cancel(errInterrupted) }
	i.stop = func() { cancel(nil) }
	if !fromProcess {
		return ctx, i
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt)
	i.end = func() {
		signal.Stop(signals)
		cancel(errInterrupted)
	}
	done := make(chan struct{})
	var listening sync.WaitGroup
	listening.Go(func() {
		for {
			select {
			case <-signals:
				i.interrupt()
			case <-done:
				return
			}
		}
	})
	i.stop = func() {
		signal.Stop(signals)
		close(done)
		listening.Wait()
		cancel(nil)
	}
	return ctx, i
}

// take has fn called for each Ctrl-C, until release.
func (i *interrupts) take(fn func()) (release func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.taken = fn
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.taken = nil
	}
}

func (i *interrupts) interrupt() {
	i.mu.Lock()
	fn := i.taken
	i.mu.Unlock()
	if fn == nil {
		fn = i.end
	}
	fn()
}
