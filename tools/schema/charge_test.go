package schema

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp/syntax"
	"runtime"
	"strings"
	"testing"
)

var errSpent = errors.New("spent")

// purse is a Charge that notes what was paid, and ends at a limit.
type purse struct{ steps, patterns, limit int64 }

func (p *purse) pay(_ context.Context, steps, patterns int64) error {
	p.steps, p.patterns = p.steps+steps, p.patterns+patterns
	if p.steps > p.limit || p.patterns > p.limit {
		return errSpent
	}
	return nil
}

// costly is a schema of many patterns, each of which alone is within bounds.
func costly(n int) json.RawMessage {
	var b strings.Builder
	b.WriteString(`{"allOf":[`)
	for i := range n {
		fmt.Fprintf(&b, `{"pattern":"(a|b%d){500}"},`, i)
	}
	b.WriteString(`true]}`)
	return json.RawMessage(b.String())
}

// Patterns that each are small enough are too many together, and what they take
// is not even allocated.
func TestManyCostlyPatterns(t *testing.T) {
	for name, doc := range map[string]json.RawMessage{
		"pattern":           costly(5000),
		"patternProperties": json.RawMessage(strings.NewReplacer(`"allOf":[`, `"patternProperties":{`, `{"pattern":`, ``, `},`, `:{},`, `true]`, `"x":true}`).Replace(string(costly(5000)))),
		"large classes":     json.RawMessage(`{"allOf":[` + strings.Repeat(`{"pattern":"`+strings.Repeat(`\\pL`, 300)+`"},`, 150) + `true]}`),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Compile(t.Context(), doc, nil)
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("its patterns take more than %d bytes", maxPatterns)) {
				t.Errorf("Compile = %.200v, want that its patterns take too much", err)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 150<<20 {
				t.Errorf("Compile took %d MiB before it refused", took>>20)
			}
		})
	}
}

func TestOnePatternIsBounded(t *testing.T) {
	for _, pattern := range []string{
		strings.Repeat("a", maxPattern+1), "(((a{1000}){10}){10})", "(a{900}|b{900})(c{900}|d{900})(e{900}|f{900})", "((((((((((((a*)*x)*x)*x)*x){50}){5}){4}))))))",
	} {
		paid := 0
		if _, err := compilePattern(pattern, func(bytes int) error { paid += bytes; return nil }); err == nil {
			t.Errorf("compilePattern(%.40s) succeeded, for %d bytes", pattern, paid)
		}
	}
}

// Patterns are never counted as less than they compile to, and seldom as much
// more.
func TestPatternsAreCounted(t *testing.T) {
	for _, pattern := range []string{"", "a", "abcdef", "(a|b|c){50}", "x{3,7}y*", "^[a-z]+@[a-z]+$", "(ab?){20,}", `\pL{100}`, "(?i)straße{2}", "(a|(b|(c|d*)+)?){9}", "a{0}", "[^a]{0,40}"} {
		p, err := compilePattern(pattern, func(int) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		program, err := syntax.Compile(parsed.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		if n := len(program.Inst); p.program+2 < n || p.program > 3*n+10 {
			t.Errorf("%s: counted %d instructions, compiles to %d", pattern, p.program, n)
		}
	}
}

func TestChargeEndsTheWork(t *testing.T) {
	doc := json.RawMessage(`{"items":{"type":"integer"}}`)
	value := json.RawMessage("[" + strings.Repeat("1,", 100_000) + "1]")
	s, err := Compile(t.Context(), doc, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		limit int64
		do    func(charge Charge) error
		want  error
	}{
		{"validation", 100, func(c Charge) error { return s.Validate(t.Context(), value, c) }, errSpent},
		{"coercion", 100, func(c Charge) error { _, err := s.Coerce(t.Context(), value, c); return err }, errSpent},
		{"enough", 1 << 30, func(c Charge) error { return s.Validate(t.Context(), value, c) }, nil},
		{"patterns", 1 << 20, func(c Charge) error { _, err := Compile(t.Context(), costly(100), c); return err }, errSpent},
		{"many parts", 100, func(c Charge) error {
			_, err := Compile(t.Context(), json.RawMessage(`{"allOf":[`+strings.Repeat(`{},`, 15_000)+`{}]}`), c)
			return err
		}, errSpent},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &purse{limit: tt.limit}
			if err := tt.do(p.pay); !errors.Is(err, tt.want) {
				t.Errorf("error is %v, want %v", err, tt.want)
			}
			if spent := max(p.steps, p.patterns); tt.want != nil && (spent <= tt.limit || spent > tt.limit+300_000) {
				t.Errorf("%+v was charged, want it to end soon after %d", p, tt.limit)
			}
			if tt.want == nil && (p.steps < 100_000/unit || p.patterns != 0) {
				t.Errorf("%+v was charged for 100,000 checks", p)
			}
		})
	}
}

func TestEndOfTheContextEndsTheWork(t *testing.T) {
	s, err := Compile(t.Context(), json.RawMessage(`{"items":{"type":"integer"}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errSpent)
	value := json.RawMessage("[" + strings.Repeat("1,", 1000) + "1]")
	if err := s.Validate(ctx, value, nil); !errors.Is(err, errSpent) {
		t.Errorf("ValidateFor = %v, want %v", err, errSpent)
	}
	if _, err := s.Coerce(ctx, value, nil); !errors.Is(err, errSpent) {
		t.Errorf("CoerceFor = %v, want %v", err, errSpent)
	}
	if _, err := Compile(ctx, costly(1), nil); !errors.Is(err, errSpent) {
		t.Errorf("CompileFor = %v, want %v", err, errSpent)
	}
}

// The words of misfits are bounded, however many there are.
func TestMisfitsAreBounded(t *testing.T) {
	s, err := Compile(t.Context(), json.RawMessage(`{"items":{"type":"string"}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	var misfit *Error
	if err := s.Validate(t.Context(), json.RawMessage("["+strings.Repeat("1,", 100_000)+"1]"), nil); !errors.As(err, &misfit) || len(misfit.Violations) != maxTold {
		t.Errorf("Validate = %.100v, want %d violations", err, maxTold)
	}
}

// What is inferred of a value of many fields takes a hundred times its text.
func TestInferringIsCharged(t *testing.T) {
	var b strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&b, `"k%d":0,`, i)
	}
	doc := json.RawMessage(`{` + b.String() + `"z":0}`)
	all := &purse{limit: 1 << 40}
	if _, err := Infer(t.Context(), doc, all.pay); err != nil || all.steps < 10_000 {
		t.Errorf("Infer = %v, and %d steps are paid for 10,000 fields", err, all.steps)
	}
	little := &purse{limit: 100}
	if _, err := Infer(t.Context(), doc, little.pay); !errors.Is(err, errSpent) || little.steps > 200 {
		t.Errorf("Infer = %v after %d steps, want an end at 100", err, little.steps)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Infer(ctx, doc, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Infer for nobody = %v", err)
	}
}
