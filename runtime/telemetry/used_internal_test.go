package telemetry

import (
	"fmt"
	"testing"

	"usher/tools/spend"
)

// However many names models have, few are told apart, and none is lost.
func TestManyModelsCountTogether(t *testing.T) {
	tel := new(Telemetry)
	for i := range 3 * maxUsed {
		tel.used.add(&ModelCall{Provider: "p", Model: fmt.Sprint(i)}, spend.Usage{Input: 2, Output: -1}, i%2 == 0)
	}
	list := tel.Used()
	var calls, failed, input, output int64
	for _, u := range list {
		calls, failed, input, output = calls+u.Calls, failed+u.Failed, input+u.Input, output+u.Output
	}
	if len(list) != maxUsed+1 || calls != 3*maxUsed || failed != 3*maxUsed/2 || input != 6*maxUsed || output != 0 {
		t.Errorf("%d models, %d calls, %d failed, %d and %d tokens", len(list), calls, failed, input, output)
	}
}
