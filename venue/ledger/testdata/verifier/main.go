// Command verifier checks the proof of a row with nothing but golang.org/x/mod
// and the venue's verifier key: verifier KEY < row.tlog-proof prints the row.
package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func main() {
	text, err := io.ReadAll(os.Stdin)
	var row []byte
	if err == nil {
		row, err = check(string(text), os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(string(row))
}

func check(text, key string) (row []byte, err error) {
	verifier, err := note.NewVerifier(key)
	if err != nil {
		return nil, err
	}
	proof, signed, _ := strings.Cut(text, "\n\n")
	checkpoint, err := note.Open([]byte(signed), note.VerifierList(verifier))
	if err != nil {
		return nil, err
	}
	said := strings.Split(checkpoint.Text, "\n")
	size, err := strconv.ParseInt(said[1], 10, 64)
	if err != nil {
		return nil, err
	}
	root, err := tlog.ParseHash(said[2])
	if err != nil {
		return nil, err
	}

	lines := strings.Split(proof, "\n")
	if len(lines) < 3 || lines[0] != "c2sp.org/tlog-proof@v1" || said[0] != verifier.Name() {
		return nil, errors.New("this is no proof")
	}
	row, err = base64.StdEncoding.DecodeString(strings.TrimPrefix(lines[1], "extra "))
	if err != nil {
		return nil, err
	}
	index, err := strconv.ParseInt(strings.TrimPrefix(lines[2], "index "), 10, 64)
	if err != nil {
		return nil, err
	}
	var hashes tlog.RecordProof
	for _, line := range lines[3:] {
		h, err := tlog.ParseHash(line)
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, h)
	}
	return row, tlog.CheckRecord(hashes, size, root, index, tlog.RecordHash(row))
}
