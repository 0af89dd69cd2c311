package ap

import (
	"embed"
	"fmt"
	"io/fs"

	"usher/venue/config"
)

//go:embed usher.yaml policy.md invoices
var files embed.FS

// Config is the department's configuration.
func Config() (*config.Config, error) {
	return config.LoadFS(files, "usher.yaml")
}

// text is one of the demo's own invoices.
func text(name string) (string, error) {
	found, err := fs.Glob(files, "invoices/"+name+".*")
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("find invoice %s: %d files, %w", name, len(found), err)
	}
	raw, err := fs.ReadFile(files, found[0])
	return string(raw), err
}
