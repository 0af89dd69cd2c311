package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
)

// errInterrupted is why a command ended that a person or a signal ended.
var errInterrupted = errors.New("interrupted")

// interrupts decides what Ctrl-C means while a command runs.
type interrupts struct {
	end   func(why error)        // ends the command; the next Ctrl-C ends the process at once
	stop  func()                 // when the command is done
	taken atomic.Pointer[func()] // what a command does with it instead
}

// listen returns a context that ends with the first Ctrl-C, unless a command
// takes them, where fromProcess says that they are to be listened for.
func listen(ctx context.Context, fromProcess bool) (context.Context, *interrupts) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	if fromProcess {
		signal.Notify(signals, os.Interrupt)
	}
	i := new(interrupts)
	i.end = func(why error) {
		signal.Stop(signals)
		cancel(why)
	}
	var listening sync.WaitGroup
	listening.Go(func() {
		for range signals {
			if fn := i.taken.Load(); fn != nil {
				(*fn)()
			} else {
				i.end(errInterrupted)
			}
		}
	})
	i.stop = func() {
		signal.Stop(signals) // nothing is sent from here on
		close(signals)
		listening.Wait()
		cancel(nil)
	}
	return ctx, i
}

// take has fn called for each Ctrl-C, until release.
func (i *interrupts) take(fn func()) (release func()) {
	i.taken.Store(&fn)
	return func() { i.taken.Store(nil) }
}
