package schema

import (
	"context"
	_ "embed"
	"sync"

	"usher/caps/value"
)

// meta is the schema of schemas, of all drafts together.
//
//go:embed meta.json
var meta []byte

// metaPart is the schema that documents are checked against before they are
// compiled. It is the only one that is not.
var metaPart = sync.OnceValue(func() *part {
	document, err := value.Decode(meta, maxDepth)
	if err != nil {
		panic(err)
	}
	p, err := newCompiler(context.Background(), document, nil).root()
	if err != nil {
		panic(err)
	}
	return p
})
