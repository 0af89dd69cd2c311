//go:build !linux && !darwin

package cli_test

import "github.com/rogpeppe/go-internal/testscript"

type process struct{}

type processesKey struct{}

var background map[string]func(*testscript.TestScript, bool, []string)
