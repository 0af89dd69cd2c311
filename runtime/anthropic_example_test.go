package runtime_test

import (
	"fmt"

	"usher/runtime/anthropic"
	"usher/runtime/endpoint"
)

func ExampleNew() {
	m, err := anthropic.New(anthropic.Options{
		Options:        endpoint.Options{Model: "claude-sonnet-5", Key: "from wherever keys are"},
		ThinkingBudget: anthropic.Adaptive,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	use := func(m *anthropic.Model) { // which is a runtime.Model
		defer m.Close()
		fmt.Println(m)
	}
	use(m)
	// Output: anthropic model claude-sonnet-5 at https://api.anthropic.com/v1/messages
}
