package face

import (
	"html/template"
	"sync"
)

// Page is a page for people, which is parsed when it is first shown.
func Page(name, text string, functions template.FuncMap) func() *template.Template {
	return sync.OnceValue(func() *template.Template {
		return template.Must(template.New(name).Funcs(functions).Parse(text))
	})
}
