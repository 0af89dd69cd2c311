package endpoint

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func readLines(l *lines) (lines []string, err error) {
	for {
		line, err := l.Next()
		if err != nil {
			return lines, err
		}
		lines = append(lines, string(line))
	}
}

// However they end, and however they come, lines are those of the slow way.
func TestLines(t *testing.T) {
	part := rapid.SampledFrom([]string{"\r", "\n", "\r\n", "a", "data: x", strings.Repeat("long", 10)})
	rapid.Check(t, func(t *rapid.T) {
		sent := strings.Join(rapid.SliceOfN(part, 0, 12).Draw(t, "parts"), "")
		want := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(sent), "\n")
		if want[len(want)-1] == "" {
			want = want[:len(want)-1]
		}
		for name, in := range map[string]io.Reader{"at once": strings.NewReader(sent), "byte by byte": iotest.OneByteReader(strings.NewReader(sent))} {
			got, err := readLines(&lines{In: bufio.NewReaderSize(in, 16), Most: 1000})
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || !errors.Is(err, io.EOF) {
				t.Fatalf("%q %s (-want +got), %v:\n%s", sent, name, err, diff)
			}
		}
	})
}

// A line that ends in CR is there before anything follows it.
func TestLinesDoNotWait(t *testing.T) {
	in, out := io.Pipe()
	defer in.Close()
	go func() { _, _ = io.WriteString(out, "a\r") }() // ends when it is read
	l := lines{In: bufio.NewReader(in), Most: 10}
	if line, err := l.Next(); err != nil || string(line) != "a" {
		t.Errorf("Next() = %q, %v, want a", line, err)
	}
}

func TestLinesAreBounded(t *testing.T) {
	for _, tt := range []struct {
		sent string
		want error
	}{
		{strings.Repeat("x", 40) + "\n", io.EOF},
		{strings.Repeat("x", 41) + "\n", bufio.ErrTooLong},
		{strings.Repeat("x", 41), bufio.ErrTooLong},
		{strings.Repeat("x\r", 41), io.EOF},
	} {
		if _, err := readLines(&lines{In: bufio.NewReaderSize(strings.NewReader(tt.sent), 16), Most: 40}); !errors.Is(err, tt.want) {
			t.Errorf("%d bytes: %v, want %v", len(tt.sent), err, tt.want)
		}
	}
}

// What broke the connection is said, once the lines before it are read.
func TestLinesBreak(t *testing.T) {
	in := io.MultiReader(strings.NewReader("a\nhalf"), iotest.ErrReader(io.ErrUnexpectedEOF))
	if lines, err := readLines(&lines{In: bufio.NewReader(in), Most: 10}); len(lines) != 1 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %q, %v, want one line and %v", lines, err, io.ErrUnexpectedEOF)
	}
}
