package cli

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// typed is what the editor receives, with the end of each line.
func typed(t *testing.T, in io.Reader) (got []string) {
	t.Helper()
	k := keys{in: bufio.NewReader(in)}
	line := ""
	for {
		buf := make([]byte, 5)
		n, err := k.Read(buf)
		line += string(buf[:n])
		switch {
		case errors.Is(err, errTyped):
			line += "<^C after typing>"
		case errors.Is(err, errCtrlC):
			line += "<^C>"
		case errors.Is(err, io.EOF):
			return append(got, line+"<end>")
		case err != nil:
			t.Fatal(err)
		}
		if err != nil || strings.HasSuffix(line, "\r") {
			got, line = append(got, line), ""
			k.typed = false
		}
	}
}

func TestKeys(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"lines", "one\rtwo\rthree", []string{"one\r", "two\r", "three<end>"}},
		{"arrows pass", "a\x1b[D\x1b[3~\r", []string{"a\x1b[D\x1b[3~\r", "<end>"}},
		{"alt-enter", "a\x1b\rb\r", []string{"a⏎b\r", "<end>"}},
		{"ctrl-c", "\x03", []string{"\x05<^C>", "<end>"}},
		{"ctrl-c takes a line back", "ab\x03c\r\x03", []string{"ab\x05<^C after typing>", "c\r", "\x05<^C>", "<end>"}},
		{"paste", "\x1b[200~a\r\nb\rc\nd\x1b[201~e\r", []string{"\x1b[200~a⏎b⏎c⏎d\x1b[201~e\r", "<end>"}},
		{"paste of keys", "\x1b[200~\x03\x04\x1b[A\t\u202e\x1b[201~\r", []string{"\x1b[200~␃␄␛[A    \ufffd\x1b[201~\r", "<end>"}},
		{"marks in a paste", "\x1b[200~\x1b[20\x1b[201~\r", []string{"\x1b[200~␛[20\x1b[201~\r", "<end>"}},
		{"two pastes", "\x1b[200~a\x1b[201~\x1b[200~b\x1b[201~", []string{"\x1b[200~a\x1b[201~\x1b[200~b\x1b[201~<end>"}},
	} {
		whole, pieces := typed(t, strings.NewReader(c.in)), typed(t, iotest.OneByteReader(strings.NewReader(c.in)))
		if diff := cmp.Diff(c.want, whole); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if diff := cmp.Diff(c.want, pieces); diff != "" {
			t.Errorf("%s, byte by byte (-want +got):\n%s", c.name, diff)
		}
	}
}

func FuzzKeys(f *testing.F) {
	f.Add("a\x1b[200~b\r\x03\x1b[201~\x03\r")
	f.Fuzz(func(t *testing.T, in string) {
		whole, pieces := typed(t, strings.NewReader(in)), typed(t, iotest.OneByteReader(strings.NewReader(in)))
		if diff := cmp.Diff(whole, pieces); diff != "" {
			t.Errorf("%q differs byte by byte (-whole +pieces):\n%s", in, diff)
		}
	})
}

func TestMemory(t *testing.T) {
	dir := t.TempDir()
	m, err := openMemory(dir, new(sync.Mutex))
	if err != nil {
		t.Fatal(err)
	}
	for _, message := range []string{"first", "two\nlines", "two\nlines", strings.Repeat("x", maxMessage+1), "\x1b[31mred"} {
		if err := m.add(message); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, memoryFile)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v; want mode 0600", info, err)
	}
	m, err = openMemory(dir, new(sync.Mutex))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range m.Len() {
		got = append(got, m.At(i))
	}
	if diff := cmp.Diff([]string{"␛[31mred", "two⏎lines", "first"}, got); diff != "" {
		t.Errorf("what is found again (-want +got):\n%s", diff)
	}
}

// What is kept has a bound, and what a crash cut is not what is read.
func TestMemoryIsBounded(t *testing.T) {
	dir := t.TempDir()
	m, err := openMemory(dir, new(sync.Mutex))
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxMessages + 3 {
		if err := m.add(strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, memoryFile)
	if err := os.WriteFile(file+".new", []byte(`["cut`), 0o600); err != nil {
		t.Fatal(err)
	}
	if m, err = openMemory(dir, new(sync.Mutex)); err != nil || m.Len() != maxMessages || m.At(0) != strconv.Itoa(maxMessages+2) {
		t.Errorf("%d messages, %v; want %d, the newest first", m.Len(), err, maxMessages)
	}
	if err := os.WriteFile(file, []byte(`["broken`), 0o600); err != nil {
		t.Fatal(err)
	}
	if m, err = openMemory(dir, new(sync.Mutex)); err == nil || m.Len() != 0 || m.add("x") != nil {
		t.Errorf("of a broken file there are %d messages, %v; want an error", m.Len(), err)
	}
	if raw, err := os.ReadFile(file); err != nil || string(raw) != `["broken` {
		t.Errorf("a broken file was overwritten: %s, %v", raw, err)
	}
}

func TestMemoryOfAVenueInMemory(t *testing.T) {
	t.Chdir(t.TempDir())
	m, err := openMemory("", new(sync.Mutex))
	if err != nil || m.add("secret") != nil || m.Len() != 1 {
		t.Errorf("%d messages, %v", m.Len(), err)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("there is %v, %v", left, err)
	}
}

func TestChatCommand(t *testing.T) {
	for text, want := range map[string]bool{
		"/help": true, "/nonsense": true, "/": true, "/quit ": true,
		"/etc/hosts": false, " /help": false, "/help me": false, "what is /help": false, "/help\nmore": false,
	} {
		if _, got := chatCommand(text); got != want {
			t.Errorf("chatCommand(%q) = %v, want %v", text, got, want)
		}
	}
}
