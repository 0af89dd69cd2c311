// Package socket hands a command to the process that keeps a data folder open: a
// local socket in that folder, over which one process sends another messages and its
// open files. [Listen] is for the one that keeps the folder, [Dial] for the others.
// Only processes of the same user speak with each other.
package socket

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// maxMessage bounds a message, in bytes of JSON.
const maxMessage = 16 << 20

var (
	// ErrNone: nobody listens for the folder.
	ErrNone = errors.New("nobody listens")
	// ErrUnsupported: this system has no sockets that files can be sent over.
	ErrUnsupported = errors.New("this system cannot hand a command to another process")
)

// strangerError is a process of another user at the other end.
type strangerError struct{ User, Want uint32 }

func (e *strangerError) Error() string {
	return fmt.Sprintf("the other process is user %d's, and this one user %d's: each speaks with its own user only", e.User, e.Want)
}

const (
	name    = "usher.sock"
	pointer = "usher.sock.at" // a file that has the socket's path, where it cannot lie in the folder
)

// encode is a message as it is sent: its length, and itself as JSON.
func encode(message any) ([]byte, error) {
	raw, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	if len(raw) > maxMessage {
		return nil, fmt.Errorf("a message of %d bytes is too large", len(raw))
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(raw))), raw...), nil
}
