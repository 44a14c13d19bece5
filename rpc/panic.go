package rpc

import (
	"fmt"
	"log/slog"
	"runtime"

	"github.com/toolhost/toolhost/pack"
)

// contain runs f and turns a panic in it into an error. The log gets the type of
// the panic and where it came from, never its value or an argument, which may be
// anything that a server sent.
func contain(log *slog.Logger, what string, f func()) (err *pack.Error) {
	defer func() {
		if r := recover(); r != nil {
			log.Error("panic contained", "in", what, "type", fmt.Sprintf("%T", r), "stack", stack())
			err = pack.Errorf(pack.KindInternal, "internal error in %s; the log of toolhost says where", what)
		}
	}()
	f()
	return nil
}

// stack returns the functions above a recover, innermost first, with their
// lines.
func stack() []string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	var lines []string
	for {
		frame, more := frames.Next()
		lines = append(lines, fmt.Sprintf("%s:%d", frame.Function, frame.Line))
		if !more {
			return lines
		}
	}
}
