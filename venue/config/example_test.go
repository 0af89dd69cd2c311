package config_test

import (
	"fmt"

	"usher/tools"
	"usher/tools/workspace"
	"usher/venue/config"
)

func ExampleParse() {
	_, err := config.Parse("usher.yaml", []byte(`
agents:
  - id: Carol
    promt: You approve payments.
`))
	fmt.Println(err)
	// Output:
	// usher.yaml:4:5: unknown key "promt" in an agent: did you mean "prompt"?
	//   3 |   - id: Carol
	//   4 |     promt: You approve payments.
	//     |     ^
}

func ExampleConfig_Lint() {
	c, err := config.Parse("usher.yaml", []byte(`
models: {default: {provider: offline}}
agents:
  - id: Carol
    tools: [covia:read, covia:write]
    caps: [{with: w/, can: crud/read}]
`))
	if err != nil {
		panic(err)
	}
	for _, f := range c.Lint(operations(), []string{"offline"}, nil) {
		fmt.Println(f)
	}
	// Output:
	// usher.yaml:5:25: warning: agent Carol: no capability covers covia:write, so it is never offered: add a capability such as {with: w/, can: crud/write}, or remove the tool
}

// operations stands for those of a venue: its Registry method returns them.
func operations() *tools.Registry {
	reg := new(tools.Registry)
	if err := reg.Register(workspace.Operations(nil)...); err != nil {
		panic(err)
	}
	return reg
}
