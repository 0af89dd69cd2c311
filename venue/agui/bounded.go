package agui

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// maxFew is how many entries a list has that a client sends beside its messages.
const maxFew = 64

// few is a list of some entries. Of one that is longer no more is read than says so: a small
// request takes no large memory.
type few[T any] []T

// UnmarshalJSON reads the list.
func (l *few[T]) UnmarshalJSON(raw []byte) error {
	return each(raw, func(n int, entry json.RawMessage) error {
		if n >= maxFew {
			return fmt.Errorf("a list has more than %d entries", maxFew)
		}
		*l = append(*l, *new(T))
		return json.Unmarshal(entry, &(*l)[n])
	})
}

// dialogue is what is read of messages: how many there are, and the last.
type dialogue struct {
	count int
	last  message
}

// UnmarshalJSON reads the messages.
func (d *dialogue) UnmarshalJSON(raw []byte) error {
	var last json.RawMessage
	err := each(raw, func(n int, entry json.RawMessage) error {
		d.count, last = n+1, entry
		return nil
	})
	if err != nil || d.count == 0 {
		return err
	}
	return json.Unmarshal(last, &d.last)
}

// each calls take with the entries of a list, by their places. An entry is the caller's until
// the next one. null is an empty list.
func each(raw []byte, take func(n int, entry json.RawMessage) error) error {
	if string(raw) == "null" {
		return nil
	}
	if len(raw) == 0 || raw[0] != '[' {
		return fmt.Errorf("%.20q is no list", raw)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return err
	}
	var entry json.RawMessage
	for n := 0; dec.More(); n++ {
		if err := dec.Decode(&entry); err != nil {
			return err
		}
		if err := take(n, entry); err != nil {
			return err
		}
	}
	return nil
}
