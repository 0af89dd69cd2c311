package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
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
	out := s.out
	if c.Out != "-" {
		f, err := s.create(c.Out, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return misusef("%s is there already: name a new file", c.Out)
		}
		if err != nil {
			return misuse{err}
		}
		defer func() {
			if err = cmp.Or(err, f.Close()); err != nil {
				err = errors.Join(err, os.Remove(f.Name())) // half an export is none
			}
		}()
		out = f
	}
	lines, err := care.Export(ctx, dir, out)
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
