package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/pack/bridge"
	"github.com/toolhost/toolhost/pack/mcp"
	"github.com/toolhost/toolhost/pack/mcptools"
	"github.com/toolhost/toolhost/redact"
	"github.com/toolhost/toolhost/rpc"
)

// The pack that people's commands use, and its statuses that they act on.
const (
	mcpPack          = "tanstack/mcp"
	statusConnecting = "connecting"
	statusConnected  = "connected"
)

// closeTime bounds the end of a command: sessions are ended at their servers, and
// local servers are stopped, for which the pack takes 5 s at most.
const closeTime = 6 * time.Second

// A local is the pack tanstack/mcp in this process, for the commands that people
// type. It is used from one goroutine.
type local struct {
	instance *pack.Instance
	reporter
	registry *pack.Registry
	runtime  *rpc.Background
	scrub    *redact.Scrubber
	changed  chan struct{} // holds a token when a server's state changed
}

// A reporter is what the pack tells people besides what the contract says. Its
// methods do not wait, and return what is safe to show.
type reporter interface {
	Servers() []pack.ServerStatus  // their state now, in the order of the configuration
	Warnings() map[string][]string // what is odd about an entry, by server
	Missing() map[string][]string  // why not all that a server offers is there, by server
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
// that is wanted; the others are left alone. Close must be called.
func (a *app) connect(ctx context.Context, c *connection, config []byte, of []string, each func(*local, []pack.ServerStatus)) (*local, []pack.ServerStatus, error) {
	if len(of) > 0 {
		only, err := a.onlyServer(config, of[0])
		if err != nil {
			return nil, nil, err
		}
		config = only
	}
	l, err := a.open(config, c.settings)
	if err != nil {
		return nil, nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	servers := l.settle(waiting, each)
	if ctx.Err() != nil {
		l.Close()
		return nil, nil, interrupted()
	}
	for i := range servers {
		if servers[i].Status == statusConnecting {
			servers[i].Error = fmt.Sprintf("no answer within %v; give it longer by --timeout", c.timeout)
		}
	}
	return l, servers, nil
}

// onlyServer returns the object of servers without those that have other names. The
// error says that there is none of that name.
func (a *app) onlyServer(config []byte, name string) ([]byte, error) {
	var kept []byte
	var known []string
	for _, entry := range rawjson.Members(config) {
		known = append(known, entry.Name())
		if entry.Name() == name {
			kept = append(append(append(append(kept, ','), entry.Key...), ':'), entry.Value...)
		}
	}
	switch {
	case kept != nil:
		kept[0] = '{'
		return append(kept, '}'), nil
	case known == nil:
		return nil, pack.Errorf(pack.KindMessage, "unknown server %s; none is configured", bridge.Quote(a.scrub, name))
	}
	return nil, pack.Errorf(pack.KindMessage, "unknown server %s; %s", bridge.Quote(a.scrub, name), nearest(a.scrub, name, known))
}

// open constructs the pack over an object of servers, which starts to connect.
func (a *app) open(servers []byte, s *settings) (*local, error) {
	registry, err := packs()
	if err != nil {
		return nil, err
	}
	log := a.logger(s)
	l := &local{
		registry: registry,
		runtime:  rpc.NewBackground(log),
		scrub:    a.scrub,
		changed:  make(chan struct{}, 1),
	}
	host := &pack.Host{
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
	}
	a.answerQuestions(host)
	config := append(append([]byte(`{"servers":`), servers...), '}')
	if l.instance, err = registry.Construct(mcpPack, "", config, host); err != nil {
		return nil, err
	}
	l.reporter = l.instance.Pack.(reporter)
	return l, nil
}

// settle waits until every server has been tried, or ctx has ended, and returns the
// last state of all. each, unless it is nil, sees the state at the start and after
// each change.
func (l *local) settle(ctx context.Context, each func(*local, []pack.ServerStatus)) []pack.ServerStatus {
	for {
		servers := l.servers()
		if each != nil {
			each(l, servers)
		}
		if !slices.ContainsFunc(servers, func(s pack.ServerStatus) bool { return s.Status == statusConnecting }) {
			return servers
		}
		select {
		case <-l.changed:
		case <-ctx.Done():
			return servers
		}
	}
}

// servers returns the state of every server. One that waits for its user says what
// people can do about that here.
func (l *local) servers() []pack.ServerStatus {
	servers := slices.Clone(l.Servers())
	for i := range servers {
		if s := &servers[i]; s.NeedsSignIn {
			s.Error = "the user has to sign in, which this command does not do; to try it here, write a credential into headers in place of oauth"
		}
	}
	return servers
}

// invoke runs one of the pack's tools.
func (l *local) invoke(ctx context.Context, tool *pack.Tool, arguments []byte) (*pack.Result, error) {
	return l.registry.Invoke(ctx, l.instance.ID+"/"+tool.Name, &pack.Call{Arguments: arguments})
}

// Close ends the sessions and the local servers, and waits for the background work.
func (l *local) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	l.registry.CloseAll(ctx)
	l.runtime.End()
}
