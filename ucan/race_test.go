//go:build race

package ucan

// racing says that the race detector is on, under which a pool gives things away.
const racing = true
