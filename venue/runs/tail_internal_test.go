package runs

import (
	"testing"

	"usher/tools"
	"usher/ucan"
	"usher/venue/store/memory"
)

func TestTail(t *testing.T) {
	st := memory.Open()
	t.Cleanup(func() { _ = st.Close() })
	s := &Sessions{book: &Book{opts: Options{Store: st.Under("")}}}
	of := tools.NewLife(ucan.DID{}, "bob", "1")
	put := map[string][]byte{entryKey(of, "other", 9): make([]byte, 100)}
	for seq := range uint64(300) {
		put[entryKey(of, "s", seq+1)] = make([]byte, 100)
	}
	if _, err := st.Under("").Apply(t.Context(), nil, put, nil); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		session    string
		most, size int
		want       uint64
	}{
		"all of it":     {"s", 300, 30_000, 0},
		"by events":     {"s", 7, 30_000, 293},
		"by bytes":      {"s", 300, 250, 298},
		"less than one": {"s", 300, 99, 300},
		"none":          {"none", 7, 100, 0},
	} {
		if got, err := s.Tail(t.Context(), of, tt.session, tt.most, tt.size); got != tt.want || err != nil {
			t.Errorf("%s: Tail = %d, %v, want %d", name, got, err, tt.want)
		}
	}
}
