package stdiomcp

import (
	"context"
	"fmt"
	"os"

	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/redact"
)

// host is a toolhost to be killed: it starts the shell script of its second argument
// under a guard, says "ready" when that has answered, and waits.
func host() {
	path, _ := os.Executable()
	tr := New(&mcpclient.Process{
		Command: redact.NewSecret("/bin/sh"), Shown: "/bin/sh",
		Args: []redact.Secret{redact.NewSecret("-c"), redact.NewSecret(os.Args[2])},
		Env:  []mcpclient.Variable{{Name: marker, Value: redact.NewSecret(os.Getenv(marker))}},
	}, &Options{Guard: []string{path, roleGuard}})
	if _, err := tr.RoundTrip(context.Background(), request(modern, 1, "hello", "{}"), new(recorder)); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("ready")
	select {}
}
