package mcp

import (
	"context"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/pack/bridge"
)

// noRuntime is the seed's sentence, to the letter.
const noRuntime = "MCP needs runvil/tokio-runtime, and this host provides none"

// Options are what a program may set. The zero value is what toolhost uses.
type Options struct {
	// ClientName and ClientVersion tell servers who calls, where the host did
	// not say its own name. Empty for mcpclient's.
	ClientName    string
	ClientVersion string

	// Env and Home look up what ${env:NAME} and ${userHome} stand for in an
	// entry. Nil for os.LookupEnv and os.UserHomeDir.
	Env  func(name string) (string, bool)
	Home func() (string, error)

	// NewTransport returns the carrier of one attempt to reach an entry's
	// server. It does no I/O. Nil for Streamable HTTP, where the packs of one
	// Install together keep to the limit connections_total (L29).
	NewTransport func(entry *mcpclient.Entry, host *pack.Host) mcpclient.Transport
}

// Install makes the pack runvil/mcp available in registry with config["mcp"],
// which is null when config has no such member. The error is the registry's,
// such as pack.ErrDuplicatePack. Nil opts are the zero Options.
func Install(registry *pack.Registry, config pack.Raw, opts *Options) error {
	o := Options{}
	if opts != nil {
		o = *opts
	}
	if o.NewTransport == nil {
		remote := bridge.OverHTTP()
		o.NewTransport = func(entry *mcpclient.Entry, host *pack.Host) mcpclient.Transport {
			return remote(entry, host, nil)
		}
	}
	return registry.Insert(pack.Info{
		Name:        "runvil/mcp",
		ID:          "mcp",
		Description: "Tools from every configured MCP server",
		New: func(id string, config pack.Raw, host *pack.Host) (pack.Pack, error) {
			return construct(id, config, host, &o)
		},
	}, pack.Raw(rawjson.Members(config).Get("mcp")))
}

// construct judges each entry on its own and starts one task for each that was
// taken. It does no I/O itself. The configuration as a whole is judged before
// the runtime, and the runtime is needed even with no servers.
func construct(id string, config pack.Raw, host *pack.Host, opts *Options) (pack.Pack, error) {
	entries, err := split(config, host.Limits)
	if err != nil {
		return nil, err
	}
	if host.Runtime == nil {
		return nil, pack.Errorf(pack.KindUnavailable, noRuntime)
	}
	m := &mcp{
		id:      id,
		host:    host,
		opts:    opts,
		servers: readEntries(entries, host, opts),
		index:   make(map[string]*server, len(entries)),
	}
	var ctx context.Context
	ctx, m.stop = context.WithCancel(context.Background())
	for _, s := range m.servers {
		m.index[s.name] = s
		if s.entry != nil {
			m.background(ctx, s)
		}
	}
	return m, nil
}
