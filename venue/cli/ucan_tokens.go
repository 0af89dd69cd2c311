package cli

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"

	"usher/tools/delegation"
)

// maxTokenFile bounds a file of tokens, in bytes.
const maxTokenFile = 4 << 20

// readTokens is tokensBy of files.
func (s *streams) readTokens(names []string) ([]delegation.Item, error) {
	return tokensBy(s.readAll, names)
}

// tokensBy reads the tokens and revocations that read finds under the names, in their
// order. One that cannot be read is an error; a bad token is one of the items.
func tokensBy(read func(name string) ([]byte, error), names []string) (items []delegation.Item, err error) {
	if i := slices.Index(names, "-"); i >= 0 && slices.Contains(names[i+1:], "-") {
		return nil, misusef("- is standard input, which can be read once")
	}
	for _, name := range names {
		data, err := read(name)
		if err != nil {
			return nil, err
		}
		if name == "-" {
			name = "standard input"
		}
		const sealedHead = 0x82 // a CBOR list of two, with which no text begins
		if len(data) > 0 && data[0] == sealedHead {
			items = append(items, delegation.Read(name, "u"+base64.RawURLEncoding.EncodeToString(data)))
			continue
		}
		for i, line := range bytes.Split(data, []byte("\n")) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				items = append(items, delegation.Read(fmt.Sprintf("%s:%d", name, i+1), string(line)))
			}
		}
	}
	return items, nil
}

func (s *streams) readAll(name string) ([]byte, error) {
	in, err := s.source(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, maxTokenFile+1))
	if err != nil {
		return nil, misusef("read tokens: %w", err)
	}
	return data, bounded(name, data)
}

// bounded says that what was read is more than tokens are.
func bounded(name string, data []byte) error {
	if len(data) > maxTokenFile {
		return misusef("%s is larger than %d MiB: tokens are a few KiB each", name, maxTokenFile>>20)
	}
	return nil
}

// someTokens is tokensBy where there has to be one.
func someTokens(read func(name string) ([]byte, error), names []string) ([]delegation.Item, error) {
	items, err := tokensBy(read, names)
	if err == nil && len(items) == 0 {
		err = fmt.Errorf("there is no token in %s", strings.Join(names, ", "))
	}
	return items, err
}
