//go:build !linux

package badger

// letGo leaves it to the system.
func letGo(string, int) error { return nil }
