package caps

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

func requireTables(t *testing.T) {
	t.Helper()
	if norm.Version != tablesVersion {
		t.Skipf("golang.org/x/text has Unicode %s, the tables %s: run go generate", norm.Version, tablesVersion)
	}
}

func checkNFC(t *testing.T, s string) {
	t.Helper()
	if got, want := isNFC(s), norm.NFC.IsNormalString(s) && norm.NFC.String(s) == s; got != want {
		t.Fatalf("isNFC(%+q) = %v, want %v", s, got, want)
	}
}

func TestNFCOfEveryRune(t *testing.T) {
	requireTables(t)
	for r := range rune(unicode.MaxRune + 1) {
		if r >= 0xd800 && r <= 0xdfff {
			continue
		}
		checkNFC(t, string(r))
		if got, want := combiningClass(r), norm.NFC.PropertiesString(string(r)).CCC(); got != want {
			t.Fatalf("combiningClass(%U) = %d, want %d", r, got, want)
		}
	}
}

// Every rune that begins or ends a composition meets every rune that ends one or
// has a combining class, alone and with a third between them.
func TestNFCOfPairs(t *testing.T) {
	requireTables(t)
	starters := map[rune]bool{'a': true, 0x1100: true, 0x1112: true, 0xac00: true, 0xac01: true, 0xd788: true}
	marks := map[rune]bool{0x1161: true, 0x1175: true, 0x1176: true, 0x11a7: true, 0x11a8: true, 0x11c2: true, 0x11c3: true}
	for _, p := range compositions {
		starters[p.first], starters[p.whole], marks[p.second] = true, true, true
	}
	for _, s := range combiningClasses {
		for r := s.lo; r <= s.hi; r++ {
			marks[r] = true
		}
	}
	for a := range starters {
		for b := range marks {
			checkNFC(t, string([]rune{a, b}))
		}
	}
	if testing.Short() {
		return
	}
	between := []rune{0x0327, 0x0323, 0x0301, 0x0345, 0x0334, 'x', 0x093c, 0x11a8}
	for _, p := range compositions {
		for _, m := range between {
			checkNFC(t, string([]rune{p.first, m, p.second}))
			checkNFC(t, string([]rune{p.whole, m, p.second}))
			checkNFC(t, string([]rune{p.whole, p.second, m}))
		}
	}
}

func TestNFCOfRandomText(t *testing.T) {
	requireTables(t)
	rnd := rand.New(rand.NewPCG(1, 5))
	var pool []rune
	for _, p := range compositions {
		pool = append(pool, p.whole, p.first, p.second)
	}
	for _, s := range combiningClasses {
		pool = append(pool, s.lo, s.hi)
	}
	pool = append(pool, 'a', 'e', 'o', ' ', '/', 0x1100, 0x1161, 0x11a8, 0xac00, 0xac01, 0x1f600, 0x212b, 0xfb1d)
	composed, runes := 0, make([]rune, 12)
	for range 300_000 {
		text := runes[:1+rnd.IntN(len(runes))]
		for i := range text {
			text[i] = pool[rnd.IntN(len(pool))]
		}
		s := string(text)
		checkNFC(t, s)
		s = norm.NFC.String(s)
		if !isNFC(s) {
			t.Fatalf("isNFC(%+q) = false, want true: it is NFC(%+q)", s, string(text))
		}
		if _, never := findSpan(neverComposed, text[0]); !never {
			composed++
		}
	}
	if composed == 0 {
		t.Error("no text was composed")
	}
}

// x/text inserts a joiner after 30 marks (stream-safe text), so it is no measure
// here.
func TestNFCOfLongText(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
	}{
		{strings.Repeat("\u0301", 500), true},
		{"q" + strings.Repeat("\u0301", 500), true},
		{"a" + strings.Repeat("\u0301", 500), false},
		{"q" + strings.Repeat("\u0327\u0301", 250), false},
		{"q" + strings.Repeat("\u0327", 250) + "\u0301", true},
		{"a" + strings.Repeat("\u0327", 250) + "\u0301", false},
		{strings.Repeat("\uac01", 300), true},
		{strings.Repeat("\uac00\u11a8", 300), false},
	} {
		if got := isNFC(c.text); got != c.want {
			t.Errorf("isNFC(%.20q… of %d bytes) = %v, want %v", c.text, len(c.text), got, c.want)
		}
	}
}
