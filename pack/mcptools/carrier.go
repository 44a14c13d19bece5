package mcptools

import (
	"github.com/toolhost/toolhost/httpmcp"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/pack/bridge"
	"github.com/toolhost/toolhost/stdiomcp"
)

// carriers returns what Options.NewTransport is when it is nil: Streamable HTTP for
// remote servers, a child process under the guard for local ones.
func carriers(guard []string) func(*mcpclient.Entry, *pack.Host, httpmcp.Authorizer) mcpclient.Transport {
	remote := bridge.OverHTTP()
	return func(entry *mcpclient.Entry, host *pack.Host, auth httpmcp.Authorizer) mcpclient.Transport {
		if entry.Process == nil {
			return remote(entry, host, auth)
		}
		return stdiomcp.New(entry.Process, &stdiomcp.Options{
			Guard:  guard,
			Limits: host.Limits,
			Scrub:  host.Scrub,
			Log:    bridge.NewServer(entry.Name, host).Logger(),
		})
	}
}
