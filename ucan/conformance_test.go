package ucan

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"usher/caps"
)

// liberal verifies fixtures: they live for ever, or for a century.
func liberal(at int64) *Verifier {
	return &Verifier{
		Now:    func() time.Time { return time.Unix(at, 0) },
		Limits: Limits{Life: -1, InvocationLife: -1},
	}
}

// goUCANChain lists the tokens of a chain of delegationtest, leaf first. The
// variant begins with Carol's token.
func goUCANChain(t *testing.T, names []string, variant string) []*Link {
	t.Helper()
	var chain []*Link
	for i := len(names) - 1; i > 0; i-- {
		name := "Token" + names[i-1] + names[i]
		if variant != "" && names[i-1] != "Alice" && names[i-1] != "Bob" {
			name += "_" + variant
		}
		l, err := Open(conformance(t, "go-ucan-v1.1.0/delegationtest/"+name+".dagcbor"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		chain = append(chain, l)
	}
	return chain
}

// goUCANChains runs the cases of go-ucan's TestToken_ExecutionAllowed.
func goUCANChains(t *testing.T) {
	all := []string{"Alice", "Bob", "Carol", "Dan", "Erin", "Frank"}
	valid := map[string]any{"from": "alice@example.com", "to": []any{"bob@example.com", "carol@not.example.com"}, "title": "Coffee", "body": "Still on for coffee"}
	invalid := with(valid, "to", []any{"bob@null.com", "carol@elsewhere.example.com"})
	const nominal, attenuated, expanded = "expanded/nominal", "expanded/nominal/attenuated", "expanded"
	for _, c := range []struct {
		name    string
		people  []string
		variant string
		drop    []int // tokens left out, counted from the leaf
		can     string
		args    map[string]any
		want    error
	}{
		{"only root", all[:2], "", nil, nominal, nil, nil},
		{"valid chain", all, "", nil, nominal, nil, nil},
		{"proof chain attenuates command", all, "ValidAttenuatedCommand", nil, attenuated, nil, nil},
		{"invocation attenuates command", all, "", nil, attenuated, nil, nil},
		{"arguments satisfy empty policy", all, "", nil, nominal, valid, nil},
		{"arguments satisfy example policy", all, "ValidExamplePolicy", nil, nominal, valid, nil},
		{"arguments do not satisfy example policy", all, "ValidExamplePolicy", nil, nominal, invalid, ErrPolicy},
		{"no arguments for example policy", all, "ValidExamplePolicy", nil, nominal, nil, ErrPolicy},
		{"referenced delegation expired", all, "InvalidExpired", nil, nominal, nil, ErrExpired},
		{"referenced delegation inactive", all, "InvalidInactive", nil, nominal, nil, ErrNotYetValid},
		{"last delegation not root", all, "", []int{3, 4}, nominal, nil, ErrForeignRoot},
		{"broken chain", all, "", []int{1, 2, 3}, nominal, nil, ErrBrokenChain},
		{"first not issued to invoker", all, "", []int{0, 1, 2}, nominal, nil, ErrAudience},
		{"proof chain expands command", all, "InvalidExpandedCommand", nil, nominal, nil, ErrWidenedAbility},
		{"invocation expands command", all, "", nil, expanded, nil, ErrNotCovered},
		{"inconsistent subject", all, "InvalidSubject", nil, nominal, nil, ErrSubject},
	} {
		t.Run(c.name, func(t *testing.T) {
			chain := goUCANChain(t, c.people, c.variant)
			caller, owner := chain[0].Audience, goUCANChain(t, all[:2], "")[0].Issuer
			var kept []*Link
			for i, l := range chain {
				if !containsInt(c.drop, i) {
					kept = append(kept, l)
				}
			}
			_, err := liberal(noon.Unix()).Authorize(t.Context(), Query{
				Caller: caller, Owner: owner, Request: caps.Need(c.can, ""), Tokens: kept, Args: c.args,
			})
			wantErr(t, err, c.want)
		})
	}
}

func containsInt(list []int, n int) bool {
	for _, x := range list {
		if x == n {
			return true
		}
	}
	return false
}

// interopDelegation reads the tokens of release candidate 1 and of 1.0.0 and
// writes the first again.
func interopDelegation(t *testing.T) {
	for _, name := range []string{"go-ucan-v1.1.0/testdata/interop_delegation.json", "rs-ucan/delegation.json", "spec-1.0.0/delegation.json"} {
		var f struct {
			Principals map[string]string
			Valid      []struct {
				Name, Token, CID string
				Envelope         struct {
					Payload struct{ Iss, Aud, Sub, Cmd string }
				}
			}
		}
		loadJSON(t, name, &f)
		for _, c := range f.Valid {
			raw, err := base64.StdEncoding.DecodeString(pad(c.Token))
			if err != nil {
				t.Fatal(err)
			}
			l, err := Open(raw)
			if err != nil {
				t.Fatalf("%s: %s: %v", name, c.Name, err)
			}
			p := c.Envelope.Payload
			if l.CID.String() != c.CID || l.Issuer.s != p.Iss || l.Audience.s != p.Aud || l.Subject.s != p.Sub || commandOf(l.grants[0].can) != p.Cmd {
				t.Errorf("%s: read as %v, %v", name, l, l.grants)
			}
			seed, err := base64.StdEncoding.DecodeString(f.Principals["alice"])
			if err != nil || !bytes.HasPrefix(seed, []byte{0x80, 0x26}) {
				t.Fatalf("principal: %x, %v", seed, err)
			}
			if _, err := KeyFromSeed(seed[2:]); err != nil {
				t.Error(err)
			}
		}
	}
}

func pad(s string) string { return s + strings.Repeat("=", (4-len(s)%4)%4) }

// specInvocations runs the invocation fixtures of UCAN 1.0.0.
func specInvocations(t *testing.T) {
	type sealed struct {
		Slash struct{ Bytes string } `json:"/"`
	}
	var f struct {
		Valid, Invalid []struct {
			Name       string
			Invocation sealed
			Proofs     []sealed
			Time       int64
			Error      struct{ Name string }
		}
	}
	loadJSON(t, "spec-1.0.0/invocation.json", &f)
	// How the names of the specification map to ours. Two fixtures differ.
	want := map[string][]error{
		"InvalidClaim": {ErrMissingProof, ErrPowerline}, "UnavailableProof": {ErrMissingProof},
		"Expired": {ErrExpired}, "TooEarly": {ErrNotYetValid}, "InvalidAudience": {ErrBrokenChain, ErrAudience},
		"InvalidSubject": {ErrSubject, ErrNotCovered}, "InvalidSignature": {ErrSignature, ErrAlgorithm}, "MatchError": {ErrPolicy},
	}
	differs := map[string]string{
		"powerline": "a delegation without a subject passes on whatever its issuer will ever hold; COG-13 has no use for it and Usher refuses it",
	}
	run := func(inv sealed, proofs []sealed, at int64) error {
		raw := func(s sealed) []byte {
			b, err := base64.StdEncoding.DecodeString(pad(s.Slash.Bytes))
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		i, err := OpenInvocation(raw(inv))
		if err != nil {
			return err
		}
		v := liberal(at)
		if v.Self = i.Audience; v.Self.IsZero() {
			v.Self = i.Subject
		}
		var tokens []*Link
		for _, p := range proofs {
			l, err := Open(raw(p))
			if err != nil {
				return err
			}
			tokens = append(tokens, l)
		}
		// A venue speaks for those whose chain is about it, as in the fixtures.
		v.Store, err = OpenStore(t.Context(), newMemKV())
		if err != nil {
			t.Fatal(err)
		}
		request := caps.Need(string(i.Can), i.Subject.s)
		if _, err = v.Invoke(t.Context(), i, request, tokens...); err == nil {
			_, again := v.Invoke(t.Context(), i, request, tokens...)
			wantErr(t, again, ErrReplayed)
		}
		return err
	}
	for _, c := range f.Valid {
		t.Run(c.Name, func(t *testing.T) {
			err := run(c.Invocation, c.Proofs, c.Time)
			if why := differs[c.Name]; why != "" {
				wantErr(t, err, ErrPowerline)
				t.Logf("differs: %s", why)
				return
			}
			wantErr(t, err, nil)
		})
	}
	for _, c := range f.Invalid {
		t.Run(c.Name, func(t *testing.T) {
			err := run(c.Invocation, c.Proofs, c.Time)
			for _, w := range want[c.Error.Name] {
				if errors.Is(err, w) {
					return
				}
			}
			t.Errorf("error = %v; the fixture says %s", err, c.Error.Name)
		})
	}
}

func policyFixtures(t *testing.T) {
	type cases []struct {
		Args     map[string]any
		Policies [][]any
	}
	var f struct{ Valid, Invalid cases }
	loadJSON(t, "rs-ucan/policy.json", &f)
	count := 0
	run := func(list cases, want bool) {
		for i, c := range list {
			for j, pol := range c.Policies {
				count++
				ok := true
				for _, item := range pol {
					s, err := parseStatement(intify(item), maxNesting)
					if err != nil {
						t.Errorf("case %d, policy %d: %v", i, j, err)
						ok = !want
						break
					}
					ok = ok && s(intify(c.Args)) == isTrue
				}
				if ok != want {
					t.Errorf("case %d, policy %d: %v matches %v: %v; want %v", i, j, pol, c.Args, ok, want)
				}
			}
		}
	}
	run(f.Valid, true)
	run(f.Invalid, false)
	if count != 25 {
		t.Errorf("%d policies; expected 25", count)
	}
}

// intify makes the whole numbers of encoding/json integers.
func intify(v any) any {
	switch v := v.(type) {
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = intify(v[i])
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k := range v {
			out[k] = intify(v[k])
		}
		return out
	}
	return v
}

// differing lists the fixtures of UCAN 0.8.1 and 0.10.0 that COG-13, as Usher
// reads it, judges in another way, and why.
var differing = map[string]string{
	// Valid there, refused here.
	"Delegated UCAN has rights amplification from combining witness capabilities": "db/WRITE: abilities are lower case (COG-13 matches them exactly, 0.8.1 folds them)",
	"Delegated UCAN is valid with multiple valid proofs":                          "db/WRITE: abilities are lower case",
	"Delegated UCAN can delegate":                                                 "prf:0 with ucan/DELEGATE is a resource of 0.8 for the proof itself; COG-13 names what is delegated",
	"UCAN attenuation has valid syntax":                                           "wnfs/APPEND: abilities are lower case",
	"UCAN attenuation is valid with multiple capabilities":                        "db/WRITE: abilities are lower case",
	"UCAN has a well-formed capability with a caveat":                             "a caveat restricts in words that nothing here enforces, so the token is refused",
	"UCAN has multiple well-formed capabilities":                                  "one of them has a caveat",
	"UCAN capability caveats equal to proof caveats":                              "it has a caveat",
	"UCAN capability attenuates existing caveats":                                 "it has a caveat",
	"UCAN capability attenuates from no caveats":                                  "it has a caveat",
	// Refused there, valid here.
	"Header is missing a `ucv` field":   "COG-13's JWT names no version",
	"Payload is missing an `prf` field": "COG-13 and 0.10 leave it out where there is no proof",
}

// spec081 runs the JWT fixtures of UCAN 0.8.1.
func spec081(t *testing.T) {
	type fixture struct {
		Comment, Token string
		Assertions     struct {
			ValidationErrors []string
		}
	}
	judge := func(token string, at int64) error {
		l, err := Open([]byte(token))
		if err != nil {
			return err
		}
		if at == 0 { // when the token is in force
			at = max(l.nbf, 1650000000)
		}
		return liberal(at).Check(t.Context(), l)
	}
	var valid, invalid []fixture
	loadJSON(t, "spec-0.8.1/valid.json", &valid)
	loadJSON(t, "spec-0.8.1/invalid.json", &invalid)
	for _, c := range valid {
		t.Run(c.Comment, func(t *testing.T) {
			err := judge(c.Token, 0)
			if why, ok := differing[c.Comment]; ok {
				wantErr(t, err, ErrMalformed)
				t.Logf("differs: %s", why)
				return
			}
			wantErr(t, err, nil)
		})
	}
	want := map[string]error{
		"base64Invalid": ErrMalformed, "headerMalformed": ErrMalformed, "payloadMalformed": ErrMalformed, "signatureMalformed": ErrMalformed,
		"expExpired": ErrExpired, "nbfNotReady": ErrNotYetValid, "expWitnessTimeBoundExceeded": ErrTimeBounds,
		"prfWitnessNotAligned": ErrBrokenChain, "prfWitnessVersionMismatch": ErrVersion, "prfWitnessDoesNotExist": ErrMalformed,
		"algInvalidAlgorithm": ErrAlgorithm, "typInvalidType": ErrMalformed, "ucvInvalidVersion": ErrVersion,
		"issInvalidDidKey": ErrMalformed, "audInvalidDidKey": ErrMalformed,
		// COG-13 has resources that are no URIs and abilities of one segment; these
		// are refused because their abilities are in upper case.
		"attInvalidResource": ErrMalformed, "attInvalidAbility": ErrMalformed,
	}
	for _, c := range invalid {
		t.Run(c.Comment, func(t *testing.T) {
			err := judge(c.Token, noon.Unix())
			if why, ok := differing[c.Comment]; ok {
				wantErr(t, err, nil)
				t.Logf("differs: %s", why)
				return
			}
			if len(c.Assertions.ValidationErrors) == 0 {
				if err == nil {
					t.Error("accepted")
				}
				return
			}
			wantErr(t, err, want[c.Assertions.ValidationErrors[0]])
		})
	}
}

// conformance0100 runs the JWT suite of UCAN 0.10.0.
func conformance0100(t *testing.T) {
	type fixture struct {
		Name, Task string
		Inputs     struct {
			Token  string
			Proofs map[string]string
			Hasher string
		}
		Outputs struct{ CID, Token string }
		Errors  []string
	}
	judge := func(c fixture) error {
		l, err := Open([]byte(c.Inputs.Token))
		if err != nil {
			return err
		}
		v := liberal(noon.Unix())
		if v.Store, err = OpenStore(t.Context(), newMemKV()); err != nil {
			t.Fatal(err)
		}
		for cid, token := range c.Inputs.Proofs {
			p, err := Open([]byte(token))
			if err != nil {
				return err
			}
			if p.CID.String() != cid {
				return fmt.Errorf("the proof's CID is %s; the fixture says %s", p.CID, cid)
			}
			if err := v.Store.Put(t.Context(), p); err != nil {
				return err
			}
		}
		return v.Check(t.Context(), l)
	}
	var all []fixture
	for _, name := range []string{"verify", "refute", "build", "cid"} {
		var list []fixture
		loadJSON(t, "conformance-0.10.0/"+name+".json", &list)
		all = append(all, list...)
	}
	want := map[string][]error{
		"expired": {ErrExpired}, "notReady": {ErrNotYetValid}, "timeBoundsViolation": {ErrTimeBounds, ErrBrokenChain},
		"missingField": {ErrMalformed, ErrAlgorithm}, "incorrectType": {ErrMalformed, ErrAlgorithm, ErrVersion},
		"incorrectProofs": {ErrMalformed}, "invalidDelegation": {ErrBrokenChain, ErrWidenedResource, ErrMalformed},
	}
	for _, c := range all {
		t.Run(c.Task+"/"+c.Name, func(t *testing.T) {
			switch c.Task {
			case "toCID":
				if c.Inputs.Hasher != "SHA2-256" {
					_, err := ParseCID(c.Outputs.CID)
					wantErr(t, err, errCID) // one hash, so a token has one name
					return
				}
				if got := cidOf(codecRaw, []byte(c.Inputs.Token)).String(); got != c.Outputs.CID {
					t.Errorf("CID = %s; want %s", got, c.Outputs.CID)
				}
			case "build":
				// Another implementation's spelling is read, whoever wrote it.
				_, err := Open([]byte(c.Outputs.Token))
				if strings.Contains(c.Name, "caveat") {
					wantErr(t, err, ErrMalformed)
					return
				}
				wantErr(t, err, nil)
			case "verify":
				err := judge(c)
				if why, ok := differing[c.Name]; ok {
					wantErr(t, err, ErrMalformed)
					t.Logf("differs: %s", why)
					return
				}
				wantErr(t, err, nil)
			case "refute":
				err := judge(c)
				if c.Name == "UCAN issuer does not match proof audience" {
					wantErr(t, err, ErrSignature) // alice's signature, though mallory is the issuer
					return
				}
				for _, w := range want[c.Errors[0]] {
					if errors.Is(err, w) {
						return
					}
				}
				t.Errorf("error = %v; the fixture says %v", err, c.Errors)
			default:
				t.Errorf("unknown task %q", c.Task)
			}
		})
	}
}

// goldenEncodings reads the tokens that go-ucan keeps as DAG-JSON: written as
// CBOR they are what Usher reads.
func goldenEncodings(t *testing.T) {
	for _, name := range []string{"new", "root", "powerline", "invocation-new"} {
		var doc []json.RawMessage
		loadJSON(t, "go-ucan-v1.1.0/testdata/"+name+".dagjson", &doc)
		raw := fromDAGJSON(t, doc)
		var err error
		if name == "invocation-new" {
			_, err = OpenInvocation(raw)
		} else {
			_, err = Open(raw)
		}
		switch name {
		case "powerline":
			wantErr(t, err, ErrPowerline)
		default:
			t.Logf("%s: %v", name, err)
		}
	}
}

func fromDAGJSON(t *testing.T, doc []json.RawMessage) []byte {
	t.Helper()
	var v any
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	var w cborWriter
	if err := w.value(undag(t, intify(v)), maxNesting); err != nil {
		t.Fatal(err)
	}
	return w.b
}

// undag turns the {"/": …} of DAG-JSON into bytes and links.
func undag(t *testing.T, v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = undag(t, v[i])
		}
	case map[string]any:
		switch slash := v["/"].(type) {
		case string:
			c, err := ParseCID(slash)
			if err != nil {
				t.Fatal(err)
			}
			return c
		case map[string]any:
			b, err := base64.RawStdEncoding.DecodeString(slash["bytes"].(string))
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		for k := range v {
			v[k] = undag(t, v[k])
		}
	}
	return v
}
