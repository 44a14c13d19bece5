package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/pack/mcp"
	"github.com/toolhost/toolhost/rpc"
)

// The names of the pack that people's commands use, and of what it offers.
const (
	mcpPack         = "runvil/mcp"
	getDynamicTools = "get_dynamic_tools"
	callDynamicTool = "call_dynamic_tool"

	statusReady   = "ready"
	statusLoading = "loading"
)

// closeTime bounds the end of a command: sessions are ended at their servers.
const closeTime = 3 * time.Second

// A local is the pack runvil/mcp in this process, for the commands that people
// type. It is used from one goroutine.
type local struct {
	instance *pack.Instance
	registry *pack.Registry
	runtime  *rpc.Background
	changed  chan struct{} // holds a token when a server's state changed
}

// packs returns the packs that this program has, none of them constructed.
func packs() (*pack.Registry, error) {
	registry := pack.NewRegistry()
	return registry, mcp.Install(registry, nil, &mcp.Options{ClientVersion: version})
}

// connect reads the configuration, constructs the pack over it, or over the one
// server of that name, and waits as settle does, at most as long as the flags
// say. Close must be called.
func (a *app) connect(ctx context.Context, c *connection, name string, each func([]pack.ServerStatus)) (*local, []pack.ServerStatus, error) {
	config, err := a.readConfig(c.config, c.limits)
	if err != nil {
		return nil, nil, err
	}
	l, err := a.open(onlyServer(config, name), c.settings)
	if err != nil {
		return nil, nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	servers, err := l.settle(waiting, name, each)
	if err == nil && ctx.Err() != nil {
		err = pack.Errorf(pack.KindCancelled, "interrupted")
	}
	if err != nil {
		l.Close()
		return nil, nil, err
	}
	return l, servers, nil
}

// onlyServer returns the configuration without the servers that have other names.
// A name that is not configured leaves all of them, for the error to list.
func onlyServer(config []byte, name string) []byte {
	var kept []byte
	for _, entry := range rawjson.Members(config) {
		if entry.Name() == name {
			kept = append(append(append(append(kept, ','), entry.Key...), ':'), entry.Value...)
		}
	}
	if kept == nil {
		return config
	}
	kept[0] = '{'
	return append(kept, '}')
}

// open constructs the pack, which starts to connect.
func (a *app) open(config []byte, s *settings) (*local, error) {
	registry, err := packs()
	if err != nil {
		return nil, err
	}
	log := a.logger(s)
	l := &local{registry: registry, runtime: rpc.NewBackground(log), changed: make(chan struct{}, 1)}
	l.instance, err = registry.Construct(mcpPack, "", config, &pack.Host{
		Name:    "toolhost",
		Version: version,
		Runtime: l.runtime,
		Log:     log,
		Scrub:   a.scrub,
		Limits:  s.limits,
		Status: func([]pack.ServerStatus) {
			select {
			case l.changed <- struct{}{}:
			default:
			}
		},
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// statuses returns the state of every server, in name order.
func (l *local) statuses(ctx context.Context) ([]pack.ServerStatus, error) {
	ready, ok := l.instance.Pack.(pack.Readier)
	if !ok {
		return nil, errors.New("the pack reports no servers")
	}
	return ready.Ready(ctx)
}

// settle waits until the server of that name, or every server for "", has started
// or failed to, or until ctx ends, and returns the last state of all. each, unless
// it is nil, sees the state at the start and after each change. A name that is not
// configured waits for nothing: the call that follows says so.
func (l *local) settle(ctx context.Context, name string, each func([]pack.ServerStatus)) ([]pack.ServerStatus, error) {
	for {
		servers, err := l.statuses(ctx)
		if err != nil {
			return nil, err
		}
		if each != nil {
			each(servers)
		}
		if !slices.ContainsFunc(servers, func(s pack.ServerStatus) bool {
			return s.Status == statusLoading && (name == "" || s.Name == name)
		}) {
			return servers, nil
		}
		select {
		case <-l.changed:
		case <-ctx.Done():
			return servers, nil
		}
	}
}

// invoke runs one of the pack's tools.
func (l *local) invoke(ctx context.Context, tool string, arguments []byte) (*pack.Result, error) {
	return l.registry.Invoke(ctx, l.instance.ID+"/"+tool, &pack.Call{Arguments: arguments})
}

// Close ends the sessions and waits for the background work.
func (l *local) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	l.registry.CloseAll(ctx)
	l.runtime.End()
}
