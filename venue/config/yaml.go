package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"usher/tools/form"
)

// Bounds of a file. The parser takes time in the square of a mapping's keys, so
// that a configuration is bounded closer than the files that it names.
const (
	maxSourceBytes = 1 << 20
	maxFileBytes   = 4 << 20
	maxNesting     = 64
	maxValues      = 1 << 20 // with aliases written out
)

// parse reads one document. It returns nil for a file without any content.
func parse(src *source, data []byte) (root *form.Node, err error) {
	defer func() {
		// The lexer and the parser index into what they read; a fault in them is
		// a file that cannot be read, not the end of the program.
		if v := recover(); v != nil {
			root, err = nil, fault{place{File: src.name}, fmt.Sprintf("this is not YAML that can be read (%v): write it more simply", v)}
		}
	}()
	tokens := lexer.Tokenize(string(data))
	if err := checkNesting(src, tokens); err != nil {
		return nil, err
	}
	tokens, err = joinPlain(src, tokens)
	if err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, syntaxFault(src, err)
	}
	body, err := oneDocument(src, file.Docs)
	if err != nil || body == nil {
		return nil, err
	}
	c := converter{src: src, anchors: map[string]*form.Node{}, sizes: map[*form.Node]int{}}
	return c.node(body, 0)
}

// oneDocument returns the body of the only document that holds anything; nil
// where none does. Directives and leading comments come as documents too.
func oneDocument(src *source, docs []*ast.DocumentNode) (ast.Node, error) {
	var body ast.Node
	began := false
	for _, doc := range docs {
		switch doc.Body.(type) {
		case *ast.DirectiveNode, *ast.CommentNode, *ast.CommentGroupNode:
			continue
		}
		if began {
			at := place{File: src.name}
			if doc.Start != nil {
				at = src.at(posOf(doc.Start))
			}
			return nil, fault{at, "a second document begins here: put everything into one, or into several files of a folder"}
		}
		body, began = doc.Body, true
	}
	return body, nil
}

// fault is one problem that ends the reading of a file.
type fault struct {
	at      place
	message string
}

func (f fault) Error() string { return f.at.String() + ": " + f.message }

func syntaxFault(src *source, err error) error {
	at, message := place{File: src.name}, err.Error()
	var e yaml.Error
	if errors.As(err, &e) {
		message = e.GetMessage()
		if tk := e.GetToken(); tk != nil && tk.Position != nil {
			at = src.at(posOf(tk))
		}
	}
	return fault{at, "this is not YAML: " + strings.TrimSpace(message)}
}

// checkNesting bounds how deep the parser has to go: it recurses without a
// bound of its own. Brackets nest anywhere, everything else nests by the line
// or by indentation.
func checkNesting(src *source, tokens token.Tokens) error {
	flow, line, onLine := 0, 0, 0
	for _, tk := range tokens {
		if tk.Position.Line != line {
			line, onLine = tk.Position.Line, 0
		}
		switch tk.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType, token.AnchorType, token.TagType:
			onLine++
		}
		if flow > maxNesting || onLine > maxNesting && flow == 0 || tk.Position.IndentLevel > maxNesting {
			return fault{src.at(posOf(tk)), fmt.Sprintf("values nest more than %d levels deep: write it flatter", maxNesting)}
		}
	}
	return nil
}
