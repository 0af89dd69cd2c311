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

func readLines(l *bufio.Scanner) (lines []string, err error) {
	for l.Scan() {
		lines = append(lines, l.Text())
	}
	return lines, l.Err()
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
			got, err := readLines(linesOf(in, 1000))
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
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
	if l := linesOf(in, 10); !l.Scan() || l.Text() != "a" {
		t.Errorf("the first line is %q, %v, want a", l.Text(), l.Err())
	}
}

func TestLinesAreBounded(t *testing.T) {
	for _, tt := range []struct {
		sent string
		want error
	}{
		{strings.Repeat("x", 40) + "\n", nil},
		{strings.Repeat("x", 41) + "\n", bufio.ErrTooLong},
		{strings.Repeat("x", 41), bufio.ErrTooLong},
		{strings.Repeat("x\r", 41), nil},
	} {
		if _, err := readLines(linesOf(strings.NewReader(tt.sent), 40)); !errors.Is(err, tt.want) {
			t.Errorf("%d bytes: %v, want %v", len(tt.sent), err, tt.want)
		}
	}
}

// What broke the connection is said, once the lines before it are read.
func TestLinesBreak(t *testing.T) {
	in := io.MultiReader(strings.NewReader("a\nhalf"), iotest.ErrReader(io.ErrUnexpectedEOF))
	if lines, err := readLines(linesOf(in, 10)); len(lines) > 2 || lines[0] != "a" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %q, %v, want one line and %v", lines, err, io.ErrUnexpectedEOF)
	}
}
