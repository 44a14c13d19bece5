//go:build !linux

package stdiomcp

import "errors"

// canGuard is false: only Linux lets a guard find all that descends from a server.
const canGuard = false

func startGuarded(*order, []string) (child, error) { panic("stdiomcp: there is no guard here") }

// errGuard wraps what goes wrong with a guard.
var errGuard = errors.New("its guard failed")

// Guard returns an error: on this system a server has no guard.
func Guard() error {
	return errors.New("on this system there is no guard; servers are ended by process group, on Windows by job")
}
