package mcptools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/pack/bridge"
)

// The names of the pack's own entries.
const (
	commandMCP        = "command/mcp"
	commandConnect    = "command/connect"
	commandDisconnect = "command/disconnect"
	resourceList      = "resource/list"
	resourceRead      = "resource/read"
)

var (
	noArguments   = pack.Raw(`{"type":"object"}`)
	nameArgument  = pack.Raw(`{"type":"object","properties":{"name":{"type":"string","description":"The server's name"}},"required":["name"]}`)
	listArguments = pack.Raw(`{"type":"object","properties":{` +
		`"server":{"type":"string","description":"The server's name"},` +
		`"cursor":{"type":"string","description":"nextCursor of the page before; none for the first"}},"required":["server"]}`)
	readArguments = pack.Raw(`{"type":"object","properties":{` +
		`"server":{"type":"string","description":"The server's name"},` +
		`"uri":{"type":"string","description":"As resource/list gives it"}},"required":["server","uri"]}`)
)

var (
	mcpCommand = pack.Tool{Name: commandMCP, Kind: pack.KindCommand, Title: "/mcp",
		Description: "Lists the MCP servers and their status", InputSchema: noArguments, Untrusted: true}
	signInCommands = []pack.Tool{
		{Name: commandConnect, Kind: pack.KindCommand, Title: "/connect NAME",
			Description: "Signs in to an MCP server and connects it", InputSchema: nameArgument},
		{Name: commandDisconnect, Kind: pack.KindCommand, Title: "/disconnect NAME",
			Description: "Disconnects an MCP server and forgets the sign-in", InputSchema: nameArgument},
	}
	resourceTools = []pack.Tool{
		{Name: resourceList, Kind: pack.KindResource, Title: "List resources",
			Description: "Lists one page of a server's resources", InputSchema: listArguments, Untrusted: true},
		{Name: resourceRead, Kind: pack.KindResource, Title: "Read a resource",
			Description: "Reads one resource of a server", InputSchema: readArguments, Untrusted: true},
	}
)

// commands returns the commands that there are: those for signing in only where a
// server is signed in to (S2-02).
func (p *mcptools) commands() []pack.Tool {
	list := []pack.Tool{mcpCommand}
	if slices.ContainsFunc(p.servers, func(s *server) bool { return s.oauth }) {
		list = append(list, signInCommands...)
	}
	return list
}

// ownEntry returns what runs one of the pack's own entries.
func (p *mcptools) ownEntry(name string) (func(context.Context, *pack.Call) (*pack.Result, error), bool) {
	switch name {
	case commandMCP:
		return func(context.Context, *pack.Call) (*pack.Result, error) { return p.listServers(), nil }, true
	case commandConnect:
		return p.connect, true
	case commandDisconnect:
		return p.disconnect, true
	case resourceList:
		return p.listResources, true
	case resourceRead:
		return p.readResource, true
	}
	return nil, false
}

// listServers answers /mcp.
func (p *mcptools) listServers() *pack.Result {
	var b strings.Builder
	for _, s := range p.catalog.Load().statuses {
		fmt.Fprintf(&b, "%s: %s", p.host.Scrub.Reason(s.Name, bridge.ShownName), s.Status)
		switch {
		case s.Error != "":
			b.WriteString(": " + s.Error)
		case s.ToolCount == 1:
			b.WriteString(", 1 tool")
		default:
			fmt.Fprintf(&b, ", %d tools", s.ToolCount)
		}
		b.WriteByte('\n')
	}
	if b.Len() == 0 {
		b.WriteString("no MCP server is configured\n")
	}
	return &pack.Result{Content: rawjson.Quote(strings.TrimSuffix(b.String(), "\n")), Untrusted: true}
}

// signedIn returns the server that a command for signing in names.
func (p *mcptools) signedIn(call *pack.Call) (*server, error) {
	s, err := p.namedServer(call, "name")
	if err == nil && !s.oauth {
		err = bridge.Message("server %s is not signed in to: its entry has no oauth", s.say.Quoted())
	}
	return s, err
}

// namedServer returns the server that an argument of the call names.
func (p *mcptools) namedServer(call *pack.Call, argument string) (*server, error) {
	name, err := bridge.StringArgument(rawjson.Members(call.Arguments), argument)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range p.servers {
		names = append(names, s.name)
	}
	if name == nil {
		return nil, bridge.Message("the argument %q must name a server; known: %s", argument, bridge.QuoteAll(p.host.Scrub, names))
	}
	if s, ok := p.index[*name]; ok {
		return s, nil
	}
	names, _ = bridge.Nearest(*name, names)
	return nil, bridge.Message("unknown server %s; known: %s", p.quote(*name), bridge.QuoteAll(p.host.Scrub, names))
}

// connect answers /connect: the user signs in to a server that waits for that, and it
// is tried now.
func (p *mcptools) connect(ctx context.Context, call *pack.Call) (*pack.Result, error) {
	s, err := p.signedIn(call)
	if err != nil {
		return nil, err
	}
	if s.conn == nil {
		return nil, s.notConnected(s.now())
	}
	tried, err := s.signIn(ctx, call)
	if err != nil {
		return nil, err
	}
	if tried.link == nil {
		return nil, s.notConnected(tried)
	}
	return answerText("server %s is connected", s.say.Quoted()), nil
}

// disconnect answers /disconnect: the connection ends, and the token is forgotten.
func (p *mcptools) disconnect(ctx context.Context, call *pack.Call) (*pack.Result, error) {
	s, err := p.signedIn(call)
	if err != nil {
		return nil, err
	}
	if s.conn == nil {
		return nil, s.notConnected(s.now())
	}
	s.conn.disconnect()
	if err := s.auth.Forget(ctx); err != nil {
		return nil, bridge.Message("server %s is disconnected, but its token could not be forgotten: %s", s.say.Quoted(), p.host.Scrub.Reason(err.Error(), bridge.ShownReason))
	}
	return answerText("server %s is disconnected", s.say.Quoted()), nil
}

func answerText(format string, args ...any) *pack.Result {
	return &pack.Result{Content: rawjson.Quote(fmt.Sprintf(format, args...))}
}
