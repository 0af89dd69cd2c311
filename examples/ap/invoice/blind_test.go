package invoice

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestBlind(t *testing.T) {
	fs, _ := filepath.Glob(os.Getenv("BLIND"))
	for _, f := range fs {
		b, _ := os.ReadFile(f)
		inv, err := Read(string(b))
		fmt.Printf("== %s\n%s", filepath.Base(f), render(inv, err))
	}
}
