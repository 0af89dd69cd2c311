//go:build linux

package faults

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
)

// claim is a line that a working child prints: mostly that something was acknowledged.
type claim struct {
	Kind string `json:"kind"`

	Path string `json:"path,omitempty"` // of a note; of what a token is for
	Seed uint64 `json:"seed,omitempty"` // of a note's text, with its size
	Size int    `json:"size,omitempty"`
	N    int    `json:"n,omitempty"` // of a counter, of a turn

	Session string `json:"session,omitempty"` // of a turn
	CID     string `json:"cid,omitempty"`     // of a token
	Token   string `json:"token,omitempty"`   // the same token, to be brought in again
	Text    string `json:"text,omitempty"`    // of an error
}

// Kinds of a [claim]. What begins with "to" is printed before it is tried.
const (
	opened   = "opened"
	noted    = "note"     // a note of that text lies at the path
	counted  = "count"    // the counter at the path is N, or was
	toDelete = "toDelete" // the note may be gone from now on
	deleted  = "deleted"  // it is gone
	turned   = "turn"     // turn N of the session has ended
	granted  = "granted"  // bob may read the path
	revoked  = "revoked"  // bob may not
	failed   = "failed"   // something was not acknowledged, and why
	full     = "full"     // nothing more is acknowledged; what the reading child waits for a line
	closed   = "closed"   // the venue is closed; Text says what went wrong with that
)

// noteText is the text of a note. It does not compress well, as little does that is already small.
func noteText(seed uint64, size int) string {
	const signs = "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ 0123456789"
	r := rand.New(rand.NewPCG(seed, uint64(size)))
	text := make([]byte, size)
	for i := range text {
		text[i] = signs[r.IntN(len(signs))]
	}
	return string(text)
}

// printer prints claims, one line each, in one write.
type printer struct {
	mu  sync.Mutex
	out io.Writer
}

// say reports whether the line is out. A line that is not claims nothing.
func (p *printer) say(c claim) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.out.Write(append(mustJSON(c), '\n'))
	return err == nil
}

func (p *printer) fail(what string, err error) {
	p.say(claim{Kind: failed, Text: fmt.Sprintf("%s: %v", what, err)})
}

// readClaims yields the claims of a child that may have been killed within a line.
func readClaims(r io.Reader, each func(claim)) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		var c claim
		if err == nil && json.Unmarshal(line, &c) == nil {
			each(c)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readClaimFile is readClaims with what one or several children printed.
func readClaimFile(name string) (list []claim, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return list, readClaims(f, func(c claim) { list = append(list, c) })
}
