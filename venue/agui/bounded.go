package agui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
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

// dialogue is what is read of messages: how many there are, the last, and the results of
// tools that are the last, or stand right before the last.
type dialogue struct {
	count   int
	last    message
	results []message
}

// UnmarshalJSON reads the messages: of many those at the end alone.
func (d *dialogue) UnmarshalJSON(raw []byte) error {
	var newest [maxFew + 2]json.RawMessage
	err := each(raw, func(n int, entry json.RawMessage) error {
		d.count, newest[n%len(newest)] = n+1, entry
		return nil
	})
	if err != nil || d.count == 0 {
		return err
	}
	for n := d.count - 1; n >= max(0, d.count-len(newest)); n-- {
		var m message
		if err := json.Unmarshal(newest[n%len(newest)], &m); err != nil {
			return err
		}
		if n == d.count-1 {
			d.last = m
		}
		if m.Role != tool && (m.Role != user || n < d.count-1) {
			break
		}
		if m.Role == tool {
			d.results = append(d.results, m)
		}
	}
	if len(d.results) > maxFew {
		return fmt.Errorf("messages end with more than %d results of tools", maxFew)
	}
	slices.Reverse(d.results)
	return nil
}

// each calls take with the entries of a list, as parts of it, by their places. null is an
// empty list.
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
		at := dec.InputOffset()
		if err := take(n, raw[at-int64(len(entry)):at]); err != nil {
			return err
		}
	}
	return nil
}
