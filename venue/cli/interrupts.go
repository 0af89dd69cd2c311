package cli

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
)

// errInterrupted is why a command ended that a person or a signal ended.
var errInterrupted error = interruption{}

// interruption is a [context.Canceled], which stops a turn, and no failure of what is under way.
type interruption struct{}

func (interruption) Error() string        { return "interrupted" }
func (interruption) Is(target error) bool { return target == context.Canceled }

// interrupts decides what Ctrl-C means while a command runs.
type interrupts struct {
	end   func(why error)        // ends the command; the next Ctrl-C ends the process at once
	leave func()                 // lets the next Ctrl-C end the process at once
	stop  func()                 // when the command is done
	taken atomic.Pointer[func()] // what a command does with it instead
}

// keyboard is where each Ctrl-C comes from.
type keyboard struct {
	pressed <-chan os.Signal
	leave   func() // no more is taken from it
}

// keyboard is the process's own, or none.
func (p *Program) keyboard() keyboard {
	if p.client != nil {
		return p.client.keyboard
	}
	pressed := make(chan os.Signal, 2)
	if p.Interrupts {
		signal.Notify(pressed, os.Interrupt)
	}
	return keyboard{pressed, func() { signal.Stop(pressed) }}
}

// listen returns a context that ends with the first Ctrl-C, unless a command
// takes them.
func listen(ctx context.Context, from keyboard) (context.Context, *interrupts) {
	ctx, cancel := context.WithCancelCause(ctx)
	i := &interrupts{leave: from.leave}
	i.end = func(why error) {
		from.leave()
		cancel(why)
	}
	var listening sync.WaitGroup
	over := make(chan struct{})
	listening.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-from.pressed:
			}
			if fn := i.taken.Load(); fn != nil {
				(*fn)()
			} else {
				i.end(errInterrupted)
			}
		}
	})
	i.stop = func() {
		from.leave()
		close(over)
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
