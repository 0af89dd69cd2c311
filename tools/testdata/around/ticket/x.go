package ticket

import "usher/tools"

// Forge makes out a call of one's own.
func Forge(auth tools.Authority) tools.Call {
	return tools.Call{ticket: &tools.ticket{auth: auth}}
}
