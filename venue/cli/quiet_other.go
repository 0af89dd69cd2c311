//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package cli

import "os"

// quiet does nothing where terminals are something else.
func quiet(*os.File) (restore func()) { return func() {} }
