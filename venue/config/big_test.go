package config

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestBig(t *testing.T) {
	for _, size := range []int{128 << 10, 256 << 10, 512 << 10} {
		var b strings.Builder
		b.WriteString("data:\n- path: w/x\n  value:\n")
		for i := 0; b.Len() < size-100; i++ {
			fmt.Fprintf(&b, "    k%d: v\n", i)
		}
		st := time.Now()
		_, err := Parse("f", []byte(b.String()))
		fmt.Println(size, "map", time.Since(st), err)
		b.Reset()
		b.WriteString("agents:\n")
		n := 0
		for i := 0; b.Len() < size-200; i++ {
			n++
			fmt.Fprintf(&b, "- {id: a%d, prompt: x, model: m, tools: [covia:read, covia:write], caps: [{with: w/x%d, can: crud}]}\n", i, i)
		}
		st = time.Now()
		c, err := Parse("f", []byte(b.String()))
		fmt.Println(size, "agents", n, time.Since(st), err)
		st = time.Now()
		f := c.Lint(registry(t), nil)
		fmt.Println(size, "lint", time.Since(st), len(f))
		b.Reset()
		b.WriteString("data:\n- path: w/x\n  value: {")
		for i := 0; b.Len() < size-100; i++ {
			fmt.Fprintf(&b, "k%d: v, ", i)
		}
		b.WriteString("}\n")
		st = time.Now()
		_, err = Parse("f", []byte(b.String()))
		fmt.Println(size, "flow", time.Since(st), err)
		b.Reset()
		b.WriteString("data:\n- path: w/x\n  value: \"")
		for i := 0; b.Len() < size-100; i++ {
			fmt.Fprintf(&b, "k%d: v, ", i)
		}
		b.WriteString("\"\n")
		st = time.Now()
		_, err = Parse("f", []byte(b.String()))
		fmt.Println(size, "str", time.Since(st), err)
		b.Reset()
		b.WriteString("data:\n- path: w/x\n  value: |\n")
		for i := 0; b.Len() < size-100; i++ {
			fmt.Fprintf(&b, "    line %d of text\n", i)
		}
		st = time.Now()
		_, err = Parse("f", []byte(b.String()))
		fmt.Println(size, "literal", time.Since(st), err)
	}
}
