package bridge

import (
	"sync"

	"github.com/toolhost/toolhost/httpmcp"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
)

// OverHTTP returns what makes the carrier of one attempt to reach a remote entry's
// server, by Streamable HTTP. auth gives its requests their tokens, nil for none. What the servers of a process share, as the limit
// connections_total (L29), is made with the first of them.
func OverHTTP() func(entry *mcpclient.Entry, host *pack.Host, auth httpmcp.Authorizer) mcpclient.Transport {
	var once sync.Once
	var shared *httpmcp.Resources
	return func(entry *mcpclient.Entry, host *pack.Host, auth httpmcp.Authorizer) mcpclient.Transport {
		once.Do(func() { shared = httpmcp.NewResources(host.Limits) })
		return httpmcp.New(entry.URL, &httpmcp.Options{
			Headers:   entry.Headers,
			Auth:      auth,
			Limits:    host.Limits,
			Scrub:     host.Scrub,
			Log:       NewServer(entry.Name, host).Logger(),
			Resources: shared,
		})
	}
}
