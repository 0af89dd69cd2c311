package caps_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"usher/caps/value"
)

func TestDecode(t *testing.T) {
	for in, want := range map[string]any{
		`null`:                       nil,
		" true\n":                    true,
		`-0.50e+3`:                   json.Number("-0.50e+3"),
		`12345678901234567890.1`:     json.Number("12345678901234567890.1"),
		`"a\u0041\n\ud83d\ude00\/é"`: "aA\n😀/é",
		`""`:                         "",
		`[ ]`:                        []any{},
		`[1, [ null ], {}]`:          []any{json.Number("1"), []any{nil}, map[string]any{}},
		`{ "a" : {"b":[]}, "":"x" }`: map[string]any{"a": map[string]any{"b": []any{}}, "": "x"},
	} {
		got, err := value.Decode([]byte(in), 3)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("Decode(%s): %v %s", in, err, diff)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for in, want := range map[string]string{
		``:                           "byte 0: unexpected end",
		` `:                          "byte 1: unexpected end",
		`nul`:                        "literal null",
		`[1,]`:                       "malformed JSON at byte 4: invalid character ']'",
		`[1 2]`:                      "after array element",
		`{"a":1,}`:                   "object key",
		`{,}`:                        "object key",
		`{"a" 1}`:                    "after object key",
		`{"a":1 "b"`:                 "after object key:value pair",
		`{1:2}`:                      "object key",
		`"a`:                         "unexpected end",
		"\"a\nb\"":                   `byte 3: invalid character '\n'`,
		`"\x"`:                       "string escape",
		`"\u12g4"`:                   "hexadecimal",
		`"\ud83d"`:                   "surrogate",
		`"\ude00\ud83d"`:             "surrogate",
		`"\ude00\ude00"`:             "surrogate",
		`"\ud83dx\ude00"`:            "surrogate",
		`"\ud83d\n"`:                 "surrogate",
		`["\\ud83d","\ud83d"]`:       "[1]: half of a surrogate",
		`{"\ud83d":1}`:               "surrogate",
		`01`:                         "after top-level value",
		`1.`:                         "decimal point",
		`.5`:                         "looking for beginning of value",
		`-`:                          "numeric literal",
		`1e`:                         "exponent",
		`NaN`:                        "looking for beginning of value",
		`1 2`:                        "after top-level value",
		`[[[[]]]]`:                   "[0][0][0]: nested too deep",
		"\"\xff\"":                   "UTF-8",
		`{"a":1,"\u0061":2}`:         `key "a" stands twice`,
		`[0,{"b c":{"d":tru}}]`:      "malformed JSON at byte 19",
		`[{"a":{"b":1,"b":2}}]`:      `[0].a: key "b" stands twice`,
		`{"\u001b[2J":[1,1,[[[]]]]}`: `["\x1b[2J"][2][0]: nested too deep`,
		"\u00a01":                    "looking for beginning of value",
	} {
		got, err := value.Decode([]byte(in), 3)
		if err == nil || got != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Decode(%s) = %v, %v, want an error with %s", in, got, err, want)
			continue
		}
		if deep := strings.HasSuffix(want, "nested too deep"); errors.Is(err, value.ErrTooDeep) != deep {
			t.Errorf("Decode(%s): too deep %v", in, !deep)
		}
		if strings.ContainsFunc(err.Error(), unicode.IsControl) {
			t.Errorf("Decode(%s): the error %q moves a cursor", in, err)
		}
	}
	if _, err := value.Decode([]byte(strings.Repeat("[", 1<<20)), value.MaxDepth); !errors.Is(err, value.ErrTooDeep) {
		t.Errorf("a million brackets: %v", err)
	}
}

func TestObject(t *testing.T) {
	if m, err := value.Object([]byte(`{"a":1}`), 1); err != nil || len(m) != 1 {
		t.Errorf("Object = %v, %v", m, err)
	}
	for in, want := range map[string]string{`[]`: "an array: send an object", `null`: "null: send", `{`: "malformed"} {
		if m, err := value.Object([]byte(in), 1); err == nil || m != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Object(%s) = %v, %v, want an error with %s", in, m, err, want)
		}
	}
}

func TestAppend(t *testing.T) {
	const text = `{"":[],"a":{"<&>":"é \u2028\"\\\b\f\n\r\t\u0001"},"b":[1.50,-0,true,false,null]}`
	v, err := value.Decode([]byte(" "+text), 9)
	if err != nil {
		t.Fatal(err)
	}
	if got := value.Append([]byte("x"), v); string(got) != "x"+text {
		t.Errorf("Append =\n%s, want\n%s", got[1:], text)
	}
	defer func() {
		if recover() == nil {
			t.Error("Append takes an int")
		}
	}()
	value.Append(nil, 1)
}

func TestEncode(t *testing.T) {
	got, err := value.Encode(struct{ A string }{"<&>"})
	if err != nil || string(got) != `{"A":"<&>"}` {
		t.Errorf("Encode = %s, %v", got, err)
	}
	if _, err := value.Encode(func() {}); err == nil {
		t.Error("Encode takes a function")
	}
}

func TestKindAndAt(t *testing.T) {
	v, err := value.Decode([]byte(`{"a":[true,{"b":"x"},null,1]}`), 9)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		path []string
		want string // its kind; "" where there is nothing
	}{
		{nil, "an object"},
		{[]string{"a"}, "an array"},
		{[]string{"a", "0"}, "a boolean"},
		{[]string{"a", "1", "b"}, "a string"},
		{[]string{"a", "2"}, "null"},
		{[]string{"a", "3"}, "a number"},
		{[]string{"a", "4"}, ""},
		{[]string{"a", "-1"}, ""},
		{[]string{"a", "01"}, ""},
		{[]string{"a", "+1"}, ""},
		{[]string{"a", "99999999999999999999"}, ""},
		{[]string{"a", "0", "x"}, ""},
		{[]string{"b"}, ""},
	} {
		part, ok := value.At(v, tc.path...)
		if ok != (tc.want != "") || ok && value.A(part) != tc.want {
			t.Errorf("At(%q) = %v, %v, want %s", tc.path, part, ok, tc.want)
		}
	}
	if got := value.A([]byte{1}) + ", " + value.A(struct{}{}); got != "binary data, a struct {}" {
		t.Errorf("other kinds: %s", got)
	}
}

func TestCut(t *testing.T) {
	for _, tc := range []struct {
		text string
		most int
		want string
	}{
		{"", 0, ""}, {"abcdef", 6, "abcdef"}, {"abcdefg", 6, "abc…"}, {"äöüß", 7, "äö…"}, {"äöüß", 6, "ä…"}, {"abcd", 1, "…"},
	} {
		if got := value.Cut(tc.text, tc.most); got != tc.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", tc.text, tc.most, got, tc.want)
		}
	}
	long := strings.Repeat("é\x1b", 100)
	if got := value.Quote(long); len(got) > 300 || !strings.HasSuffix(got, `"…`) || strings.ContainsFunc(got, unicode.IsControl) || !utf8.ValidString(got) {
		t.Errorf("Quote = %s", got)
	}
	if got := value.Quote("a\n"); got != `"a\n"` {
		t.Errorf("Quote = %s", got)
	}
	if got := value.Show([]any{long}); len(got) > 64 || !strings.HasSuffix(got, "…") {
		t.Errorf("Show = %s", got)
	}
}

// encoding/json is the slow way: what it refuses, Decode refuses, and what
// Decode accepts, it reads and writes alike.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`null`, `[1,{"a":[true,"\u00e9\ud83d\ude00"]}]`, `{"a":1,"a":2}`, `"\ud800"`, "\"\xff\"", `1e400`, `-0`, `[[[[[]]]]]`, `{"b":0,"a":"<\u2028\u0000>"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := value.Decode(data, value.MaxDepth)
		if err != nil {
			if v != nil || strings.ContainsFunc(err.Error(), unicode.IsControl) {
				t.Fatalf("Decode(%q) = %v, %q", data, v, err)
			}
			return
		}
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		var slow any
		if err := d.Decode(&slow); err != nil || !json.Valid(data) {
			t.Fatalf("encoding/json refuses %q, which Decode accepts: %v", data, err)
		}
		if diff := cmp.Diff(slow, v); diff != "" {
			t.Fatalf("Decode(%q): %s", data, diff)
		}
		out := value.Append(nil, v)
		if want, err := value.Encode(v); err != nil || !bytes.Equal(out, want) {
			t.Fatalf("Append(%q) = %s, want %s, %v", data, out, want, err)
		}
		if again, err := value.Decode(out, value.MaxDepth); err != nil || !cmp.Equal(again, v) {
			t.Fatalf("%s, written from %q, reads as %v, %v", out, data, again, err)
		}
	})
}

// What encoding/json reads, and says once, Decode reads too.
func FuzzDecodeAccepts(f *testing.F) {
	f.Add([]byte(`{"a":[1,"x",null,true,{"é":"\t"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var slow any
		if d := json.NewDecoder(bytes.NewReader(data)); d.Decode(&slow) != nil {
			return
		}
		written, err := json.Marshal(slow)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := value.Decode(written, 1<<20); err != nil {
			t.Fatalf("Decode(%s): %v", written, err)
		}
	})
}

func FuzzAppendString(f *testing.F) {
	f.Add("<é\u2028\xff\x00\"\\>\u007f")
	f.Fuzz(func(t *testing.T, s string) {
		got := value.AppendString(nil, s)
		if want, err := value.Encode(s); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("AppendString(%q) = %s, want %s", s, got, want)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	data := []byte(`{"path":"w/notes/today","value":{"title":"Invoice","lines":[{"n":1,"text":"Paper","price":12.50},{"n":2,"text":"Ink","price":7}]}}`)
	b.Run("value", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := value.Decode(data, value.MaxDepth); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var v any
			if err := json.Unmarshal(data, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
