package ledger

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever is changed, dropped, swapped or put back of what a checkpoint
// covers, it is found with that checkpoint, whichever store it is done in.
func TestTamperingIsFound(t *testing.T) {
	l, store := fresh(t)
	states := []*memory{store.copied(t)} // older ones
	for i := range 9 {
		call(t, l, i)
		if i%3 == 0 {
			if _, err := l.Checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		states = append(states, store.copied(t))
	}
	kept, err := l.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	verify(t, l, kept.Note)
	older := len(states) - 1 // the newest has the same rows as the store
	r := NewReader(nil, l.venue)

	rapid.Check(t, func(t *rapid.T) {
		m := &memory{rows: maps.Clone(store.rows)}
		keys := slices.DeleteFunc(slices.Sorted(maps.Keys(m.rows)), func(key string) bool {
			return strings.HasPrefix(key, signPrefix) // a checkpoint that is dropped takes nothing away
		})
		key := rapid.SampledFrom(keys).Draw(t, "key")
		switch rapid.SampledFrom([]string{"flip", "cut", "lengthen", "drop", "drop the rest", "swap", "older record", "older state", "sign"}).Draw(t, "what") {
		case "flip":
			m.flip(t, key)
		case "cut":
			m.put(key, m.rows[key].Value[:len(m.rows[key].Value)-1])
		case "lengthen":
			m.put(key, append(slices.Clone(m.rows[key].Value), ' '))
		case "drop":
			delete(m.rows, key)
		case "drop the rest":
			maps.DeleteFunc(m.rows, func(k string, _ record) bool { return k >= key })
		case "swap":
			other := rapid.SampledFrom(keys).Filter(func(k string) bool { return k != key }).Draw(t, "with")
			a, b := m.rows[key].Value, m.rows[other].Value
			m.put(key, b)
			m.put(other, a)
		case "older record":
			was := states[rapid.IntRange(0, older-1).Draw(t, "state")].rows[headKey]
			m.put(headKey, was.Value)
		case "older state":
			m = states[rapid.IntRange(0, older-1).Draw(t, "state")]
		case "sign":
			signed := slices.DeleteFunc(slices.Sorted(maps.Keys(m.rows)), func(key string) bool { return !strings.HasPrefix(key, signPrefix) })
			m.flip(t, rapid.SampledFrom(signed).Draw(t, "checkpoint"))
		}
		r = NewReader(m, r.venue)
		if report, err := r.Verify(t.Context(), nil, kept.Note); !errors.Is(err, ErrBroken) {
			t.Fatalf("Verify = %+v, %v; want ErrBroken", report, err)
		}
	})
}

// flip changes a bit of a value.
func (m *memory) flip(t *rapid.T, key string) {
	value := slices.Clone(m.rows[key].Value)
	value[rapid.IntRange(0, len(value)-1).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
	m.put(key, value)
}

// A past that was written anew and signed by the same venue is found with the
// checkpoint of the true one: in the store and in an export.
func TestForkIsFound(t *testing.T) {
	l, store := fresh(t)
	call(t, l, 1)
	fork := open(t, store.copied(t))
	call(t, l, 2)
	call(t, fork, 3)
	call(t, fork, 4)
	kept, err := l.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	verify(t, fork)
	if _, err := fork.Verify(t.Context(), nil, kept.Note); !errors.Is(err, ErrBroken) {
		t.Errorf("Verify of the fork = %v, want ErrBroken", err)
	}
	var lines bytes.Buffer
	if _, err := fork.Export(t.Context(), &lines); err != nil {
		t.Fatal(err)
	}
	if _, err := VerifyExport(bytes.NewReader(lines.Bytes()), fork.venue); err != nil {
		t.Errorf("the export of the fork = %v", err)
	}
	if _, err := VerifyExport(bytes.NewReader(lines.Bytes()), fork.venue, kept.Note); !errors.Is(err, ErrBroken) {
		t.Errorf("the export of the fork against the checkpoint = %v, want ErrBroken", err)
	}
}

// An export verifies as it is, and with nothing changed.
func TestExportIsSealed(t *testing.T) {
	l, _ := fresh(t)
	var empty bytes.Buffer
	if report, err := l.Export(t.Context(), &empty); err != nil || report.Rows != 0 {
		t.Fatal(report, err)
	}
	if _, err := VerifyExport(&empty, l.venue); err != nil {
		t.Errorf("an empty ledger: %v", err)
	}
	for i := range 5 {
		call(t, l, i)
	}
	early, err := l.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	call(t, l, 6)
	var out bytes.Buffer
	if _, err := l.Export(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	whole := out.Bytes()
	report, err := VerifyExport(bytes.NewReader(whole), l.venue, early.Note)
	if err != nil || report.Rows != 12 || report.Signed != 12 || report.Checkpoints != 2 {
		t.Errorf("VerifyExport = %+v, %v", report, err)
	}
	if _, err := VerifyExport(bytes.NewReader(whole), venueKey(t, 2).DID()); !errors.Is(err, ErrBroken) {
		t.Errorf("as another venue's: %v, want ErrBroken", err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	lines = lines[:len(lines)-1]
	rapid.Check(t, func(t *rapid.T) {
		changed := slices.Clone(lines)
		i := rapid.IntRange(0, len(lines)-1).Draw(t, "line")
		switch rapid.SampledFrom([]string{"flip", "drop", "double", "swap", "cut", "add"}).Draw(t, "what") {
		case "flip":
			changed[i] = slices.Clone(lines[i])
			changed[i][rapid.IntRange(0, len(lines[i])-1).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		case "drop":
			changed = slices.Delete(changed, i, i+1)
		case "double":
			changed = slices.Insert(changed, i, lines[i])
		case "swap":
			j := rapid.IntRange(0, len(lines)-1).Filter(func(j int) bool { return j != i }).Draw(t, "with")
			changed[i], changed[j] = lines[j], lines[i]
		case "cut":
			all := bytes.Join(changed, nil)
			changed = [][]byte{all[:rapid.IntRange(0, len(all)-1).Draw(t, "end")]}
		case "add":
			changed = append(changed, []byte(rapid.StringN(1, 5, 5).Draw(t, "more")))
		}
		if report, err := VerifyExport(bytes.NewReader(bytes.Join(changed, nil)), l.venue); !errors.Is(err, ErrBroken) {
			t.Fatalf("VerifyExport = %+v, %v; want ErrBroken", report, err)
		}
	})
}

// What drawing seldom meets is found, too.
func TestRareTamperingIsFound(t *testing.T) {
	l, store := fresh(t)
	call(t, l, 1)
	c, err := l.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	call(t, l, 2)
	for name, change := range map[string]func(*memory){
		"a row beyond the head":               func(m *memory) { m.put(rowKey(5), []byte(`{"seq":5}`)) },
		"a checkpoint under another size":     func(m *memory) { m.put(signKey(3), []byte(c.Note)) },
		"another form of the same signature":  func(m *memory) { m.put(signKey(2), []byte(respelt(t, c.Note))) },
		"a head of rows that cannot be there": func(m *memory) { m.put(headKey, bytes.Repeat([]byte{0xff}, 8+64*32)) },
	} {
		m := store.copied(t)
		change(m)
		if report, err := NewReader(m, l.venue).Verify(t.Context(), nil); !errors.Is(err, ErrBroken) {
			t.Errorf("%s: Verify = %+v, %v; want ErrBroken", name, report, err)
		}
	}
}

func (m *memory) put(key string, value []byte) { m.rows[key] = record{Key: key, Value: value, Rev: 1} }

// respelt writes the signature of a note with other unused bits at its end,
// which a decoder that is not strict takes for the same.
func respelt(t *testing.T, text string) string {
	t.Helper()
	end := strings.LastIndexByte(text, '=') - 1
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	at := strings.IndexByte(digits, text[end])
	if at < 0 || at%4 != 0 {
		t.Fatalf("the note ends with %q", text[end:])
	}
	return text[:end] + digits[at+1:at+2] + text[end+1:]
}
