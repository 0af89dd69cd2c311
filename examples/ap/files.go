package ap

import (
	"embed"
	"fmt"
	"io/fs"

	"usher/venue/config"
)

//go:embed usher.yaml policy.md invoices/*.txt
var files embed.FS

// Config is the department's configuration.
func Config() (*config.Config, error) {
	return config.LoadFS(files, "usher.yaml")
}

// text is one of the demo's own invoices.
func text(name string) (string, error) {
	raw, err := fs.ReadFile(files, "invoices/"+name+".txt")
	if err != nil {
		return "", fmt.Errorf("read invoice: %w", err)
	}
	return string(raw), nil
}
