package face

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ErrList says that JSON is no list, or has an entry that is none of its kind.
var ErrList = errors.New("it is no list of such entries")

// Each calls take with the entries of a JSON list, one after another, by their places: a list
// of many small ones takes no memory but theirs. null, or nothing, is an empty list. An error
// is take's, or [ErrList].
func Each[T any](raw []byte, take func(n int, entry *T) error) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	list := json.NewDecoder(bytes.NewReader(raw))
	if begin, err := list.Token(); err != nil || begin != json.Delim('[') {
		return fmt.Errorf("%w: %.20q", ErrList, raw)
	}
	entry := new(T)
	for n := 0; list.More(); n++ {
		*entry = *new(T)
		if err := list.Decode(entry); err != nil {
			return fmt.Errorf("%w: %w", ErrList, err)
		}
		if err := take(n, entry); err != nil {
			return err
		}
	}
	return nil
}

// MaxFew is how many entries a [Few] has.
const MaxFew = 64

// Few is a list of some entries. Of one that is longer no more is read than says so: a small
// request takes no large memory.
type Few[T any] []T

// UnmarshalJSON reads the list.
func (l *Few[T]) UnmarshalJSON(raw []byte) error {
	*l = nil
	return Each(raw, func(n int, entry *T) error {
		if n >= MaxFew {
			return fmt.Errorf("a list has more than %d entries", MaxFew)
		}
		*l = append(*l, *entry)
		return nil
	})
}

// Texts reads what a message says: a text, or a list of parts of which said gives the texts, a
// line each. other is the error where it is neither.
func Texts[P any](raw []byte, other error, said func(n int, part *P) (string, error)) (string, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	if len(raw) == 0 {
		return "", other
	}
	var all strings.Builder
	err := Each(raw, func(n int, part *P) error {
		text, err := said(n, part)
		if n > 0 {
			all.WriteByte('\n')
		}
		all.WriteString(text)
		return err
	})
	if errors.Is(err, ErrList) {
		return "", other
	}
	return all.String(), err
}
