package rpc

import (
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/spec"
)

// A method is a row of the method table: spec/methods.json as this package
// serves and sends it, which a test keeps equal.
type method struct {
	name         string
	direction    string // spec.HostToChild or spec.ChildToHost
	request      bool   // may be sent with an id
	notification bool   // may be sent without
	capability   string // the member of host.capabilities that lets it be sent; "" where none is needed

	// The rest is of what the host calls.

	kinds  []pack.Kind // what it may fail with
	cancel bool        // a cancel may name it, and the end of the process cuts it short
	runs   bool        // it may make a server do something

	// serve takes a request on the reader goroutine and sees to it that it is
	// answered once.
	serve func(*server, *call, params)
}

// hostMethods are the methods that the host calls.
var hostMethods = []*method{
	{
		name: "construct", direction: spec.HostToChild, request: true,
		kinds:  []pack.Kind{pack.KindUnavailable, pack.KindInternal, pack.KindCancelled},
		cancel: true,
		serve:  (*server).construct,
	},
	{
		name: "ready", direction: spec.HostToChild, request: true,
		kinds:  []pack.Kind{pack.KindUnavailable, pack.KindInternal, pack.KindCancelled},
		cancel: true,
		serve:  (*server).ready,
	},
	{
		name: "invoke", direction: spec.HostToChild, request: true,
		kinds: []pack.Kind{
			pack.KindMessage, pack.KindBackend, pack.KindTransport, pack.KindUnavailable,
			pack.KindRefused, pack.KindCancelled, pack.KindInternal,
		},
		cancel: true,
		runs:   true,
		serve:  (*server).invoke,
	},
	methodCancel,
	{
		name: "close", direction: spec.HostToChild, request: true,
		kinds: []pack.Kind{pack.KindUnavailable, pack.KindInternal},
		serve: (*server).close,
	},
}

var methodCancel = &method{
	name: "cancel", direction: spec.HostToChild, request: true, notification: true,
	serve: (*server).cancel,
}

// lspCancel is what LSP libraries call cancel, in both directions. It has its
// meaning in an LSP-framed stream only.
const lspCancel = "$/cancelRequest"

// What the child calls at the host.
var (
	methodChanged  = &method{name: "changed", direction: spec.ChildToHost, notification: true, capability: "changed"}
	methodStatus   = &method{name: "status", direction: spec.ChildToHost, notification: true, capability: "status"}
	methodProgress = &method{name: "progress", direction: spec.ChildToHost, notification: true, capability: "progress"}
	methodLog      = &method{name: "log", direction: spec.ChildToHost, notification: true, capability: "log"}
	methodApprove  = &method{name: "approve", direction: spec.ChildToHost, request: true, capability: "approve"}
	methodElicit   = &method{name: "elicit", direction: spec.ChildToHost, request: true, capability: "elicit"}
	methodOpen     = &method{name: "open", direction: spec.ChildToHost, request: true, capability: "open"}
	methodWithdraw = &method{name: "cancel", direction: spec.ChildToHost, notification: true}
)

// childMethods are the methods that the child calls.
var childMethods = []*method{
	methodChanged, methodStatus, methodProgress, methodLog, methodApprove, methodElicit, methodOpen, methodWithdraw,
}

// methodsOf returns the host's methods by name. An LSP-framed stream has one
// more name for cancel.
func methodsOf(lsp bool) map[string]*method {
	byName := map[string]*method{}
	for _, m := range hostMethods {
		byName[m.name] = m
	}
	if lsp {
		byName[lspCancel] = methodCancel
	}
	return byName
}
