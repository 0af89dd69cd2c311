//go:build linux || darwin

package socket

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// folder is a data folder.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "u") // t.TempDir is longer than a socket's path may be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func listen(t *testing.T, dir string) *Listener {
	t.Helper()
	l, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// pair are both ends of a connection.
func pair(t *testing.T, dir string, l *Listener) (here, there *Conn) {
	t.Helper()
	var accepting sync.WaitGroup
	var failed error
	accepting.Go(func() { there, failed = l.Accept() })
	here, err := Dial(dir)
	if err != nil {
		t.Fatal(err)
	}
	accepting.Wait()
	if failed != nil {
		t.Fatal(failed)
	}
	t.Cleanup(func() {
		here.Close()
		there.Close()
	})
	return here, there
}

func TestMessagesAndFiles(t *testing.T) {
	dir := folder(t)
	here, there := pair(t, dir, listen(t, dir))
	if here.PID() != os.Getpid() || there.PID() != os.Getpid() {
		t.Errorf("the ends are of %d and %d, want %d", here.PID(), there.PID(), os.Getpid())
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	long := strings.Repeat("long ", 1<<18)
	if err := here.Send("first", w); err != nil {
		t.Fatal(err)
	}
	var sending sync.WaitGroup
	sending.Go(func() {
		if err := here.Send(long); err != nil {
			t.Error(err)
		}
	})
	var got string
	files, err := there.Receive(&got)
	if err != nil || got != "first" || len(files) != 1 || files[0].Name() != "/dev/stdin" {
		t.Fatalf("received %q with %d files, %v", got, len(files), err)
	}
	w.Close()
	if _, err := files[0].WriteString("through"); err != nil {
		t.Fatal(err)
	}
	files[0].Close()
	if raw, err := io.ReadAll(r); err != nil || string(raw) != "through" {
		t.Errorf("the file has %q, %v", raw, err)
	}
	if files, err := there.Receive(&got); err != nil || got != long || len(files) != 0 {
		t.Errorf("received %d bytes with %d files, %v", len(got), len(files), err)
	}
	sending.Wait()
	here.Close()
	if _, err := there.Receive(&got); !errors.Is(err, io.EOF) {
		t.Errorf("after the other end is closed: %v, want the end", err)
	}
}

// A process of another user is turned away.
func TestOthersAreRefused(t *testing.T) {
	user := uint32(os.Getuid())
	if err := admit(user, user); err != nil {
		t.Errorf("the same user: %v", err)
	}
	for _, other := range []uint32{user + 1, 0xffffffff} {
		if stranger, ok := errors.AsType[*strangerError](admit(other, user)); !ok || stranger.User != other {
			t.Errorf("user %d is let in", other)
		}
	}
	dir := folder(t)
	l := listen(t, dir)
	l.ownUser++ // so that this process is a stranger
	var accepting sync.WaitGroup
	accepting.Go(func() {
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("accepted a stranger, or %v", err)
		}
	})
	c, err := Dial(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var got string
	if _, err := c.Receive(&got); err == nil {
		t.Error("the stranger is spoken with")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	accepting.Wait()
}

// A folder that others get into, or whose path is too long, has the socket elsewhere.
func TestWhereTheSocketLies(t *testing.T) {
	for _, tt := range []struct {
		name   string
		folder func(t *testing.T) string
		beside bool
	}{
		{"a private folder", folder, true},
		{"a folder that is open to others", func(t *testing.T) string {
			dir := folder(t)
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			return dir
		}, false},
		{"a long path", func(t *testing.T) string {
			dir := filepath.Join(folder(t), strings.Repeat("x", 100))
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			return dir
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := tt.folder(t)
			if _, err := Dial(dir); !errors.Is(err, ErrNone) {
				t.Errorf("before anybody listens: %v", err)
			}
			l := listen(t, dir)
			pair(t, dir, l)
			at, err := os.Stat(filepath.Join(dir, name))
			if tt.beside != (err == nil) {
				t.Errorf("the socket in the folder: %v", err)
			}
			if !tt.beside {
				where, err := followPointer(filepath.Join(dir, pointer))
				if err != nil {
					t.Fatal(err)
				}
				if at, err = os.Stat(where); err != nil || private(filepath.Dir(where)) != nil {
					t.Fatalf("the socket at %s: %v", where, err)
				}
			}
			if at.Mode().Perm() != 0o600 {
				t.Errorf("the socket has mode %v", at.Mode())
			}
			again := listen(t, dir) // as after a crash
			pair(t, dir, again)
			if err := again.Close(); err != nil {
				t.Error(err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left in the folder: %v, %v", left, err)
			}
			if _, err := Dial(dir); !errors.Is(err, ErrNone) {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// A file that sends commands to a folder of others' is not followed.
func TestAPointerIntoAnOpenFolder(t *testing.T) {
	dir, open := folder(t), folder(t)
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(open, name))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.WriteFile(filepath.Join(dir, pointer), []byte(filepath.Join(open, name)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(dir); err == nil || errors.Is(err, ErrNone) {
		t.Errorf("dialled: %v", err)
	}
}

func TestMessagesThatAreNone(t *testing.T) {
	for name, raw := range map[string][]byte{
		"nothing":        nil,
		"half a length":  {0, 0},
		"too large":      binary.BigEndian.AppendUint32(nil, maxMessage+1),
		"half a message": append(binary.BigEndian.AppendUint32(nil, 10), `"x"`...),
		"no JSON":        append(binary.BigEndian.AppendUint32(nil, 3), `{{{`...),
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t)
			here, there := pair(t, dir, listen(t, dir))
			if _, err := here.net.Write(raw); err != nil {
				t.Fatal(err)
			}
			here.Close()
			var got any
			if files, err := there.Receive(&got); err == nil || len(files) > 0 {
				t.Errorf("received %v with %d files", got, len(files))
			}
		})
	}
	if _, err := encode(bytes.Repeat([]byte("x"), maxMessage)); err == nil {
		t.Error("a message above the bound is sent")
	}
}
