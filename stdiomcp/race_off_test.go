//go:build !race

package stdiomcp

const raceEnabled = false
