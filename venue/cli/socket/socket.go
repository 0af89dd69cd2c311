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
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
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

// encode returns a message as it is sent: its length, and itself as JSON.
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

// maxPath is the longest path of a socket, in bytes, on the systems here.
const maxPath = 103

// Listener accepts those who dial a folder.
type Listener struct {
	net     *net.UnixListener
	remove  []string // when it is closed, in this order
	ownUser uint32
}

// Listen opens the socket of a data folder. The caller has the folder's lock: what is
// left of a process that has died is replaced. Where the folder is open to others, or
// its path too long, the socket lies in a private folder elsewhere, and the data
// folder has a file that says where.
func Listen(dir string) (*Listener, error) {
	if rightsSize == 0 {
		return nil, ErrUnsupported
	}
	l := &Listener{ownUser: uint32(os.Getuid())}
	if err := l.listen(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("open a socket in %s: %w", dir, err), l.Close())
	}
	return l, nil
}

func (l *Listener) listen(dir string) error {
	path, at := filepath.Join(dir, name), filepath.Join(dir, pointer)
	old := []string{path, at}
	if elsewhere, err := followPointer(at); err == nil {
		old = append(old, elsewhere, filepath.Dir(elsewhere))
	}
	if err := remove(old); err != nil {
		return err
	}
	if len(path) > maxPath || private(dir) != nil {
		elsewhere, err := os.MkdirTemp(runtimeDir(), "usher-*") // 0700
		if err != nil {
			return err
		}
		path = filepath.Join(elsewhere, name)
		l.remove = []string{at, path, elsewhere}
		if err := os.WriteFile(at, []byte(path+"\n"), 0o600); err != nil {
			return err
		}
	} else {
		l.remove = []string{path}
	}
	var err error
	if l.net, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}); err != nil {
		return err
	}
	l.net.SetUnlinkOnClose(false) // Close does, also where this has failed
	return os.Chmod(path, 0o600)
}

// followPointer returns the path of a socket that lies in a private folder elsewhere.
func followPointer(at string) (path string, err error) {
	raw, err := os.ReadFile(at)
	if err != nil {
		return "", err
	}
	path = strings.TrimSuffix(string(raw), "\n")
	if filepath.Base(path) != name {
		return "", fmt.Errorf("%s names no socket", at)
	}
	return path, private(filepath.Dir(path))
}

// remove removes what is there of the paths.
func remove(paths []string) (err error) {
	for _, path := range paths {
		if gone := os.Remove(path); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// runtimeDir is where a user's sockets belong.
func runtimeDir() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" && private(dir) == nil {
		return dir
	}
	return os.TempDir()
}

// Accept returns the next process of this user that dials. Those of others are turned
// away. It fails with [net.ErrClosed] once the listener is closed.
func (l *Listener) Accept() (*Conn, error) {
	for {
		c, err := l.net.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if conn, err := open(c, l.ownUser); err == nil {
			return conn, nil
		}
		_ = c.Close() // nothing was said
	}
}

// Close ends the listener and removes the socket.
func (l *Listener) Close() (err error) {
	if l.net != nil {
		err = l.net.Close()
	}
	return errors.Join(err, remove(l.remove))
}

// Dial reaches the process that listens for a data folder, or fails with [ErrNone].
func Dial(dir string) (*Conn, error) {
	if rightsSize == 0 {
		return nil, ErrNone
	}
	path, err := followPointer(filepath.Join(dir, pointer))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		path = filepath.Join(dir, name)
	} else if err != nil {
		return nil, fmt.Errorf("the socket of %s: %w", dir, err)
	}
	if len(path) > maxPath {
		return nil, ErrNone
	}
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOTDIR) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, fmt.Errorf("reach the process that keeps %s: %w", dir, err)
	}
	conn, err := open(c, uint32(os.Getuid()))
	if err != nil {
		_ = c.Close() // nothing was said
		return nil, fmt.Errorf("reach the process that keeps %s: %w", dir, err)
	}
	return conn, nil
}

// Conn is a connection between two processes of one user. One goroutine at a time
// receives; any may send.
type Conn struct {
	net *net.UnixConn
	pid int

	mu sync.Mutex // a message is sent whole
}

// open says who is at the other end, who has to be the user.
func open(c *net.UnixConn, user uint32) (*Conn, error) {
	is, pid, err := peer(c)
	if err == nil {
		err = admit(is, user)
	}
	return &Conn{net: c, pid: pid}, err
}

// admit refuses a process of another user.
func admit(is, user uint32) error {
	if is != user {
		return &strangerError{is, user}
	}
	return nil
}

// PID is the process at the other end.
func (c *Conn) PID() int { return c.pid }

// Close ends the connection, for both.
func (c *Conn) Close() { _ = c.net.Close() } // nothing is written late

// Within bounds all that is sent and received from now on; 0 is no bound.
func (c *Conn) Within(d time.Duration) error {
	if d == 0 {
		return c.net.SetDeadline(time.Time{})
	}
	return c.net.SetDeadline(time.Now().Add(d))
}

// Send sends a message as JSON, and files with it.
func (c *Conn) Send(message any, files ...*os.File) error {
	raw, err := encode(message)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n, _, err := c.net.WriteMsgUnix(raw, rights(files), nil)
	runtime.KeepAlive(files)
	if err == nil && n < len(raw) {
		_, err = c.net.Write(raw[n:])
	}
	return err
}

// maxFiles bounds the files of a message.
const maxFiles = 3

// Receive reads the next message into the value, with the files that came with it.
// The caller closes them.
func (c *Conn) Receive(message any) (files []*os.File, err error) {
	defer func() {
		if err != nil {
			for _, f := range files {
				f.Close()
			}
			files = nil
		}
	}()
	var head [4]byte
	rights := make([]byte, rightsSize)
	for got := 0; got < len(head); {
		n, m, _, _, err := c.net.ReadMsgUnix(head[got:], rights)
		if m > 0 {
			more, err := filesOf(rights[:m])
			if files = append(files, more...); err != nil {
				return files, err
			}
		}
		if err != nil {
			return files, err
		}
		if n == 0 {
			return files, io.EOF
		}
		got += n
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxMessage {
		return files, fmt.Errorf("a message of %d bytes is too large", size)
	}
	raw := make([]byte, size)
	if _, err := io.ReadFull(c.net, raw); err != nil {
		return files, err
	}
	return files, json.Unmarshal(raw, message)
}
