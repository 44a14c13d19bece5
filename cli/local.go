package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/pack/mcp"
	"github.com/toolhost/toolhost/pack/mcptools"
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
	if err := mcp.Install(registry, nil, &mcp.Options{ClientVersion: version}); err != nil {
		return nil, err
	}
	return registry, mcptools.Install(registry, nil, &mcptools.Options{ClientVersion: version, Guard: guard()})
}

// guard returns the command of the guard of local servers: this program again. None
// where it cannot be found; they are then guarded less well.
func guard() []string {
	program, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{program, "guard"}
}

// connect constructs the pack over a configuration and waits as settle does, at
// most as long as the flags say. of is empty, or holds the name of the one server
// that is wanted. Close must be called.
func (a *app) connect(ctx context.Context, c *connection, config []byte, of []string, each func([]pack.ServerStatus)) (*local, []pack.ServerStatus, error) {
	if len(of) > 0 {
		config = onlyServer(config, of[0])
	}
	l, err := a.open(config, c.settings)
	if err != nil {
		return nil, nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	servers, err := l.settle(waiting, of, each)
	if err == nil && ctx.Err() != nil {
		err = interrupted()
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

// settle waits until the servers of those names, or every server when there are
// none, have started or failed to, or until ctx ends, and returns the last state of
// all. each, unless it is nil, sees the state at the start and after each change. A
// name that is not configured waits for nothing: the call that follows says so.
func (l *local) settle(ctx context.Context, of []string, each func([]pack.ServerStatus)) ([]pack.ServerStatus, error) {
	for {
		servers, err := l.statuses(ctx)
		if err != nil {
			return nil, err
		}
		if each != nil {
			each(servers)
		}
		if !slices.ContainsFunc(servers, func(s pack.ServerStatus) bool {
			return s.Status == statusLoading && (len(of) == 0 || slices.Contains(of, s.Name))
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

// unusable returns why the server of that name cannot be called, or nil; a name
// that is not configured is for the pack to refuse. The pack's own words promise
// another attempt, which a command that ends does not make.
func (c *connection) unusable(servers []pack.ServerStatus, name string) error {
	for _, s := range servers {
		switch {
		case s.Name != name || s.Status == statusReady:
		case s.Status == statusLoading:
			return pack.Errorf(pack.KindMessage, "server %q is not ready: %s", name, c.noAnswer())
		default:
			return pack.Errorf(pack.KindMessage, "server %q is not ready: %s", name, s.Error)
		}
	}
	return nil
}

// noAnswer says of a server that it is still loading.
func (c *connection) noAnswer() string {
	return fmt.Sprintf("no answer within %v; give it longer by --timeout", c.timeout)
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
