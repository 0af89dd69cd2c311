package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"usher/venue/store/journal"
)

// readOnly is the flag of commands that may open a data folder without writing to it.
type readOnly struct {
	ReadOnly bool `help:"Open the data folder without writing anything to it: on a full or read-only disk, another user's, or while another process has it open. Only for commands that read."`

	reads bool // the command that was called
}

// readers are the commands on a venue that write nothing of their own.
var readers = []string{
	"agents list", "agents show", "audit list", "audit verify", "audit export", "audit prove", "runs list", "runs show", "runs follow", "schedules list",
	"passkeys list", "secrets list", "sessions list", "sessions show", "ucan export", "ucan list", "ucan whoami",
	"visitors list", "visitors show",
}

// AfterApply refuses the flag for a command that writes.
func (r *readOnly) AfterApply(called *kong.Context) error {
	node := called.Selected()
	if node == nil {
		return nil
	}
	_, name, _ := strings.Cut(node.FullPath(), " ")
	r.reads = slices.Contains(readers, name)
	if r.ReadOnly && !r.reads {
		return fmt.Errorf("usher %s writes, and --read-only is for commands that only read, such as usher sessions list", name)
	}
	return nil
}

// readable adds to an error of a folder that cannot be written how to read it all the same.
func (r *readOnly) readable(err error) error {
	_, held := errors.AsType[*journal.HeldError](err)
	if !r.reads || r.ReadOnly || !held && !errors.Is(err, journal.ErrFull) && !errors.Is(err, journal.ErrStopped) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
		return err
	}
	return fmt.Errorf("%w\n(add --read-only to read without writing)", err)
}
