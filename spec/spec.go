package spec

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
)

// FS holds the files of the protocol under the names that README.md lists.
//
//go:embed *.md *.json VERSION schema vectors
var FS embed.FS

// The directions of a message.
const (
	HostToChild = "host-to-child"
	ChildToHost = "child-to-host"
)

// Version returns the version of the protocol, as `construct` carries it.
func Version() string { return strings.TrimSpace(string(read("VERSION"))) }

// A Method is a row of methods.json. A name may occur once in each direction.
type Method struct {
	Name        string   `json:"name"`
	Direction   string   `json:"direction"`  // HostToChild or ChildToHost
	Kinds       []string `json:"kinds"`      // "request", "notification"
	Params      string   `json:"params"`     // the schema's file in FS
	Result      string   `json:"result"`     // likewise; "" for a notification
	Errors      []string `json:"errors"`     // the kinds it may be answered with
	Capability  string   `json:"capability"` // in host.capabilities; "" when none is needed
	Since       string   `json:"since"`      // the version that it came with
	Description string   `json:"description"`
}

// Methods returns the method table in its order.
func Methods() []Method {
	var table struct{ Methods []Method }
	parse("methods.json", &table)
	return table.Methods
}

// An ErrorRow is a row of errors.json.
type ErrorRow struct {
	Code int    `json:"code"`
	Kind string `json:"kind"` // "" for the four codes of JSON-RPC that have none
	Name string `json:"name"`
	When string `json:"when"`
	Data struct {
		Required []string `json:"required"` // the members of the error's data that are always there
		Optional []string `json:"optional"`
	} `json:"data"`
}

// Errors returns the error table in its order.
func Errors() []ErrorRow {
	var table struct{ Errors []ErrorRow }
	parse("errors.json", &table)
	return table.Errors
}

// read returns an embedded file. That it is there is known when the package is
// built, or by its tests, so a miss is a fault of the caller's.
func read(name string) []byte {
	data, err := FS.ReadFile(name)
	if err != nil {
		panic(fmt.Sprintf("spec: %v", err))
	}
	return data
}

func parse(name string, into any) {
	if err := json.Unmarshal(read(name), into); err != nil {
		panic(fmt.Sprintf("spec: %s: %v", name, err))
	}
}
