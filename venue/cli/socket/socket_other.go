//go:build !linux && !darwin

package socket

import (
	"os"
	"time"
)

// Listener is none.
type Listener struct{}

// Listen fails with [ErrUnsupported].
func Listen(string) (*Listener, error) { return nil, ErrUnsupported }

// Accept fails with [ErrUnsupported].
func (*Listener) Accept() (*Conn, error) { return nil, ErrUnsupported }

// Close does nothing.
func (*Listener) Close() error { return nil }

// Dial fails with [ErrNone].
func Dial(string) (*Conn, error) { return nil, ErrNone }

// Conn is none.
type Conn struct{}

// PID is 0.
func (*Conn) PID() int { return 0 }

// Close does nothing.
func (*Conn) Close() {}

// Within fails with [ErrUnsupported].
func (*Conn) Within(time.Duration) error { return ErrUnsupported }

// Send fails with [ErrUnsupported].
func (*Conn) Send(any, ...*os.File) error { return ErrUnsupported }

// Receive fails with [ErrUnsupported].
func (*Conn) Receive(any) ([]*os.File, error) { return nil, ErrUnsupported }
