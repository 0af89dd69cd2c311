//go:build !race

package ucan

const racing = false
