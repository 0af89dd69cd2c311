//go:build !linux && !darwin

package cli

import "os"

// stand does nothing: there is no socket here.
func (*streams) stand([]*os.File) (shut func(), err error) { return func() {}, nil }

// leaveTerminal does nothing.
func leaveTerminal() {}
