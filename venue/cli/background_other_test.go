//go:build !linux && !darwin

package cli_test

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var background map[string]func(*testscript.TestScript, bool, []string)

func prepare(*testing.T, *testscript.Env) error { return nil }
