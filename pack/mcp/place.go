package mcp

import (
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/pack/bridge"
)

// A place is what both tools take: nil is absent.
type place struct{ namespace, toolName *string }

// readPlace reads the arguments namespace and toolName; others are ignored. The
// error is a message that names the argument.
func readPlace(members rawjson.Object) (place, error) {
	namespace, err := bridge.StringArgument(members, "namespace")
	if err != nil {
		return place{}, err
	}
	toolName, err := bridge.StringArgument(members, "toolName")
	return place{namespace, toolName}, err
}
