package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// unixScheme begins the address of a socket in the file system.
const unixScheme = "unix:"

// Listen listens at HOST:PORT, or at unix:PATH, a socket that its user alone may open. A
// socket that nobody listens at any more is replaced, where it is this user's; whatever else
// is at the path stays, and is an error.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	path, isUnix := strings.CutPrefix(address, unixScheme)
	if !isUnix {
		return new(net.ListenConfig).Listen(ctx, "tcp", address)
	}
	path, err := filepath.Abs(path)
	if err == nil {
		err = clearStale(ctx, path)
	}
	if err != nil {
		return nil, err
	}
	// It becomes private before anybody finds it.
	dir, err := os.MkdirTemp(filepath.Dir(path), ".u")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	made := filepath.Join(dir, "s")
	l, err := new(net.ListenConfig).Listen(ctx, "unix", made)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	at, err := func() (fs.FileInfo, error) {
		if err := os.Chmod(made, 0o600); err != nil {
			return nil, err
		}
		if err := os.Link(made, path); err != nil { // unlike a rename, never over another
			return nil, err
		}
		return os.Lstat(path)
	}()
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &unixListener{Listener: l, path: path, at: at}, nil
}

// clearStale removes a socket that nobody listens at.
func clearStale(ctx context.Context, path string) error {
	at, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case at.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is there, and is no socket: choose another path", path)
	case !isMine(at):
		return fmt.Errorf("%s is a socket of another user: choose another path", path)
	}
	c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", path)
	if err == nil {
		_ = c.Close()
		return fmt.Errorf("%s is in use: somebody listens there", path)
	}
	if !isRefused(err) {
		return err
	}
	if now, err := os.Lstat(path); err != nil || !os.SameFile(at, now) {
		return fmt.Errorf("%s changed meanwhile: try again", path)
	}
	return os.Remove(path)
}

// unixListener removes its socket when it is closed, and never one that took its place.
type unixListener struct {
	net.Listener
	path   string
	at     fs.FileInfo
	closed sync.Once
}

func (l *unixListener) Close() error {
	err := l.Listener.Close()
	l.closed.Do(func() {
		if now, statErr := os.Lstat(l.path); statErr == nil && os.SameFile(l.at, now) {
			err = errors.Join(err, os.Remove(l.path))
		}
	})
	return err
}

// Addr is the address as [Listen] takes it.
func (l *unixListener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }
