// Command toolhost is a child process through which any program uses MCP
// servers. It speaks JSON-RPC on stdin and stdout; `toolhost spec` prints the
// protocol and `toolhost demo` shows it at work.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/toolhost/toolhost/cli"
	"github.com/toolhost/toolhost/stdiomcp"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "guard" {
		guard()
		return
	}

	// The first signal ends the context, for an orderly end; the second one ends
	// the process at once, with the exit code that shells give it.
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		os.Exit(128 + int((<-signals).(syscall.Signal)))
	}()

	// Someone who takes SIGPIPE gets EPIPE from a write to a broken stdout,
	// which serve treats as end-of-file; nobody taking it would be killed. It is
	// not ignored, because a child process would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

	os.Exit(cli.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// guard is what toolhost runs itself as, once for each local server. It comes before
// anything else, since it takes the process as it is.
func guard() {
	if err := stdiomcp.Guard(); err != nil {
		fmt.Fprintln(os.Stderr, "toolhost:", err)
		os.Exit(1)
	}
}
