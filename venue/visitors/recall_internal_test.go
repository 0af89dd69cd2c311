package visitors

import (
	"strconv"
	"strings"
	"testing"
)

// Records are kept up to a number and a size, and come back only for the bytes that they are of.
func TestRecall(t *testing.T) {
	var m recall[Agent]
	one := &Agent{ID: "one"}
	m.keep("one", []byte("a"), one)
	if m.find("one", []byte("a")) != one || m.find("one", []byte("b")) != nil || m.find("two", []byte("a")) != nil {
		t.Error("what is found is not what was kept of these bytes")
	}
	for i := range maxRecalled + 100 {
		m.keep(strconv.Itoa(i), []byte("a"), one)
	}
	if len(m.of) != maxRecalled || m.bytes != maxRecalled {
		t.Errorf("%d records of %d bytes are kept, want %d", len(m.of), m.bytes, maxRecalled)
	}
	large := []byte(strings.Repeat("x", maxRecalledBytes/8))
	for i := range 20 {
		m.keep("large "+strconv.Itoa(i), large, one)
		m.keep("large 0", large, one)
	}
	sum := 0
	for _, kept := range m.of {
		sum += len(kept.raw)
	}
	if sum != m.bytes || sum > maxRecalledBytes {
		t.Errorf("%d bytes are kept, counted as %d: at most %d", sum, m.bytes, maxRecalledBytes)
	}
}
