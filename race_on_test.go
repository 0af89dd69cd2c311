//go:build race

package main

// raceFactor is how much more memory the race detector has some initialisers take.
const raceFactor = 10
