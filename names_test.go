package main

import (
	"go/ast"
	"go/parser"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Participles name fields and variables. A function is a verb, or a noun for what it returns; one
// that answers yes or no reads Is, Has, May; a type is a noun.
func TestNoParticipleNamesAFunctionOrType(t *testing.T) {
	seen := 0
	check := func(file, kind, name string) {
		seen++
		words := word.FindAllString(name, -1)
		if len(words) == 0 || slices.Contains(asks, strings.ToLower(words[0])) || slices.Contains(given, name) {
			return
		}
		for _, w := range []string{words[0], words[len(words)-1]} {
			if isParticiple(strings.ToLower(w)) {
				t.Errorf("%s: %s %s is named by a participle: name it by what it does, or by what it is", file, kind, name)
				return
			}
		}
	}
	eachFile(t, parser.SkipObjectResolution, func(file string, f *ast.File) {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				check(file, "function", d.Name.Name)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, is := s.(*ast.TypeSpec); is {
						check(file, "type", s.Name.Name)
					}
				}
			}
		}
	})
	if seen == 0 {
		t.Fatal("found no names: the test looks in the wrong place")
	}
}

var (
	word = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)
	asks = []string{"is", "has", "may", "are", "was", "did", "can"}

	// given are names that others want: log/slog, and COG-13.
	given = []string{"Enabled", "Unrestricted"}

	// irregular are the participles that their ends do not tell.
	irregular = strings.Fields(`begun borne broken brought built caught chosen done drawn driven eaten fallen felt foretold forgotten found
		frozen given gone heard held hidden kept known laid left lent lost made meant met misspelt paid risen said seen sent shaken
		shown sold sought spent spoken stolen stood swept taken taught told torn understood woken won worn written`)
	// nouns are those that end like participles, beside the verb bring.
	nouns = strings.Fields(`bearing beginning binding briefing bring embed encoding ending filing finding firing greeting
		heading hearing holding keyring listing mapping meaning nesting nothing opening packing reading reasoning ring
		ruling seed setting something speed spending standing string thing anything wording`)
)

func isParticiple(w string) bool {
	if slices.Contains(nouns, w) {
		return false
	}
	return slices.Contains(irregular, w) || len(w) > 4 && (strings.HasSuffix(w, "ed") || strings.HasSuffix(w, "ing"))
}
