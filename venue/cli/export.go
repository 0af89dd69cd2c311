package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"usher/venue/care"
)

type exportCmd struct {
	folderFlags
	Dir string `arg:"" optional:"" help:"The data folder; without it, that of the configuration."`
	Out string `default:"-" placeholder:"FILE" help:"Where to write it, instead of standard output."`
}

// Run writes lines of JSON, which is what --json says too.
func (c *exportCmd) Run(ctx context.Context, s *streams) (err error) {
	dir, _, err := c.folder(s, c.Dir)
	if err != nil {
		return err
	}
	var lines map[string]int
	err = s.output(c.Out, 0o600, func(out io.Writer) (err error) {
		lines, err = care.Export(ctx, dir, out)
		return err
	})
	if err != nil {
		return err
	}
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(lines)) {
		parts = append(parts, fmt.Sprintf("%d %s", lines[kind], kind))
	}
	s.note("wrote " + strings.Join(parts, ", "))
	return nil
}
