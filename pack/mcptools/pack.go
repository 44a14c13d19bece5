package mcptools

import (
	"context"
	"sync"

	"github.com/toolhost/toolhost/httpmcp"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/oauth"
	"github.com/toolhost/toolhost/pack"
)

// name is the pack's, and that of its member in a configuration of many packs.
const name = "tanstack/mcp"

// Options are what a program may set. The zero value is what toolhost uses, but
// for Guard.
type Options struct {
	// ClientName and ClientVersion tell servers who calls, where the host did
	// not say its own name. Empty for mcpclient's.
	ClientName    string
	ClientVersion string

	// Env and Home look up what ${env:NAME} and ${userHome} stand for in an
	// entry. Nil for os.LookupEnv and os.UserHomeDir.
	Env  func(name string) (string, bool)
	Home func() (string, error)

	// Guard is the command, with its arguments, that stands between this process
	// and each local server, so that none outlives it: see stdiomcp. Nil for no
	// guard.
	Guard []string

	// NewTransport returns the carrier of one attempt to reach an entry's
	// server. It does no I/O. Nil for Streamable HTTP and child processes, where
	// the packs of one Install together keep to the limit connections_total
	// (L29).
	// auth, nil for a server that is not signed in to, gives its requests their
	// tokens.
	NewTransport func(entry *mcpclient.Entry, host *pack.Host, auth httpmcp.Authorizer) mcpclient.Transport

	// Tokens keeps what the user has signed in with. The packs of this Install then
	// belong to one user. Nil for a store of each pack's own, which ends with it.
	Tokens oauth.Store

	signer *signer
}

// Install makes the pack tanstack/mcp available in registry with
// config["tanstack/mcp"], which is null when config has no such member. The packs
// of one Install that have the same local server share its process. The error is
// the registry's, such as pack.ErrDuplicatePack. Nil opts are the zero Options.
func Install(registry *pack.Registry, config pack.Raw, opts *Options) error {
	o := Options{}
	if opts != nil {
		o = *opts
	}
	if o.NewTransport == nil {
		o.NewTransport = carriers(o.Guard)
	}
	o.signer = &signer{tokens: o.Tokens}
	shared := new(pool)
	return registry.Insert(pack.Info{
		Name:        name,
		ID:          "mcp",
		Description: "Every MCP server's tools, by name",
		New: func(id string, config pack.Raw, host *pack.Host) (pack.Pack, error) {
			return construct(id, config, host, &o, shared)
		},
	}, pack.Raw(rawjson.Members(config).Get(name)))
}

// construct judges each entry on its own and starts one task for each that was
// taken. It does no I/O itself.
func construct(id string, config pack.Raw, host *pack.Host, opts *Options, shared *pool) (pack.Pack, error) {
	list, duplicates, err := readConfig(config, host, opts)
	if err != nil {
		return nil, err
	}
	if host.Runtime == nil {
		return nil, unavailable("tanstack/mcp needs a runtime for its servers, and this host provides none")
	}
	p := &mcptools{
		id:         id,
		host:       host,
		shared:     shared,
		duplicates: duplicates,
		servers:    make([]*server, len(list)),
		index:      make(map[string]*server, len(list)),
		warned:     map[string]bool{},
	}
	for i := range list {
		p.servers[i] = p.newServer(&list[i])
		p.index[list[i].name] = p.servers[i]
	}
	for _, s := range p.servers {
		if s.entry != nil {
			s.conn = shared.use(s, opts)
		}
	}
	p.catalog.Store(p.newCatalog())
	for _, s := range p.servers {
		if s.conn != nil {
			s.conn.join(s)
		}
	}
	return p, nil
}

var _ pack.Readier = (*mcptools)(nil)

// Close leaves every server. Those that nobody uses any more are ended, side by
// side, until ctx ends.
func (p *mcptools) Close(ctx context.Context) error {
	var ends sync.WaitGroup
	for _, s := range p.servers {
		if s.conn != nil {
			ends.Go(func() { p.shared.leave(s) })
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		ends.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	return nil
}
