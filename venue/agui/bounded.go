package agui

import (
	"encoding/json"
	"fmt"
	"slices"

	"usher/venue/face"
)

// dialogue is what is read of messages: how many there are, the last, and the results of
// tools that are the last, or stand right before the last.
type dialogue struct {
	count   int
	last    message
	results []message
}

// UnmarshalJSON reads the messages: of many those at the end alone.
func (d *dialogue) UnmarshalJSON(raw []byte) error {
	var newest [face.MaxFew + 2]json.RawMessage
	err := face.Each(raw, func(n int, entry *json.RawMessage) error {
		d.count, newest[n%len(newest)] = n+1, *entry
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
	if len(d.results) > face.MaxFew {
		return fmt.Errorf("messages end with more than %d results of tools", face.MaxFew)
	}
	slices.Reverse(d.results)
	return nil
}
