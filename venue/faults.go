package venue

import (
	"usher/tools/fault"
)

// Code is [fault.NotFound].
func (e *NoAgentError) Code() fault.Code { return fault.NotFound }
