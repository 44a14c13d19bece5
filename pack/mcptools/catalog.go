package mcptools

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/pack/bridge"
)

// A catalog is what the pack offers at one time, made from what the servers have
// listed. It is immutable.
//
// A name belongs to one tool of one server. A server that is not connected keeps the
// names of its last listing, though it offers nothing: a call under such a name must
// never reach another server.
type catalog struct {
	tools    []pack.Tool       // what can be invoked, in the order of the servers
	byName   map[string]target // by the name that is invoked, those of servers that are not connected too
	names    []string          // the model's names that can be invoked, for messages
	statuses []pack.ServerStatus
	clashes  []clash
}

// A target is what a name of the pack stands for. Names are never taken apart.
type target struct {
	server *server
	tool   *mcpclient.Tool   // of a tool
	prompt *mcpclient.Prompt // of a prompt
}

// A clash is a tool that the model does not get.
type clash struct {
	once   string // so that each is warned of once
	server string // whose tool it is
	text   string
}

// newCatalog judges what the servers list. Its caller holds p.mu.
func (p *mcptools) newCatalog() *catalog {
	c := &catalog{byName: map[string]target{}}
	var more []pack.Tool // of other kinds than tools
	resources := false
	for _, s := range p.servers {
		st := s.now()
		row := pack.ServerStatus{Name: s.name, Status: st.status, Error: st.reason, NeedsSignIn: st.needsSignIn}
		if st.listing != nil {
			own, clashing := p.toolsOf(c, s, st)
			switch {
			case clashing != "":
				row.Status, row.Error = statusFailed, clashing
			case st.link != nil:
				c.tools = append(c.tools, own...)
				row.ToolCount = len(own)
				resources = resources || st.resources
			}
			if prompts := c.promptsOf(s, st); st.link != nil && clashing == "" {
				more = append(more, prompts...)
			}
		}
		c.statuses = append(c.statuses, row)
	}
	for i := range c.tools {
		c.names = append(c.names, c.tools[i].Name)
	}
	c.tools = append(c.tools, more...)
	if resources {
		c.tools = append(c.tools, resourceTools...)
	}
	c.tools = append(c.tools, p.commands()...)
	return c
}

// toolsOf gives the server's tools their names in c, and returns those that the
// model gets. clashing says why it gets none.
func (p *mcptools) toolsOf(c *catalog, s *server, st *state) (own []pack.Tool, clashing string) {
	taken := map[string]target{}
	for _, o := range s.offersOf(st.listing) {
		tool, name := o.tool, o.shown.Name
		if o.task {
			c.clash("task", s, tool.Name, "tool %s of server %s runs only as a task, which is not supported; it is left out", s.quoteTool(tool), s.say.Quoted())
			continue
		}
		if other, ok := taken[name]; ok {
			c.clash(name, s, tool.Name, "server %s gives two tools the name %s: %s and %s; the first keeps it",
				s.say.Quoted(), p.quote(name), s.quoteTool(other.tool), s.quoteTool(tool))
			continue
		}
		other, clash := c.byName[name]
		switch {
		case clash && p.duplicates == failDuplicate:
			return nil, fmt.Sprintf("its tool %s has the name %s, which server %s, earlier in servers, gives a tool too (onDuplicateTool is error)",
				s.quoteTool(tool), p.quote(name), other.server.say.Quoted())
		case clash:
			c.clash(name, s, tool.Name, "servers %s and %s both give a tool the name %s; the model gets that of %s, which comes first",
				other.server.say.Quoted(), s.say.Quoted(), p.quote(name), other.server.say.Quoted())
			continue
		}
		taken[name] = target{server: s, tool: tool}
		own = append(own, o.shown)
	}
	for name, t := range taken {
		c.byName[name] = t
	}
	return own, ""
}

func (c *catalog) clash(what string, s *server, name, format string, args ...any) {
	c.clashes = append(c.clashes, clash{
		once:   strings.Join([]string{what, s.name, name}, "\x00"),
		server: s.name,
		text:   fmt.Sprintf(format, args...),
	})
}

// warn tells the host and the log of a tool that the model does not get, once. The
// caller holds p.mu.
func (p *mcptools) warn(c clash) {
	if p.warned[c.once] {
		return
	}
	p.warned[c.once] = true
	p.host.Log.Warn("a tool is left out", "reason", c.text)
	if p.host.Message != nil {
		p.host.Message(pack.Message{Level: "warning", Message: c.text})
	}
}

func (p *mcptools) quote(name string) string { return bridge.Quote(p.host.Scrub, name) }

func (s *server) quoteTool(t *mcpclient.Tool) string { return s.pack.quote(t.Name) }

// An offer is one tool that a server lists, as it would be given to the model.
type offer struct {
	tool  *mcpclient.Tool
	shown pack.Tool
	task  bool // it can only be run as a task
}

// offersOf reads the server's newest listing. A catalog is made whenever any server
// has news, but definitions are read once for each listing. The caller holds p.mu.
func (s *server) offersOf(listing *mcpclient.Listing) []offer {
	if s.listing != listing {
		s.listing, s.offers = listing, make([]offer, len(listing.Tools))
		for i := range listing.Tools {
			tool := &listing.Tools[i]
			s.offers[i] = offer{tool, s.packTool(s.toolName.name(s.name, tool.Name), tool), needsTask(tool)}
		}
	}
	return s.offers
}

// needsTask reports whether a tool can only be run as a task (2025-11-25
// server/tools, "execution").
func needsTask(tool *mcpclient.Tool) bool {
	execution := rawjson.Members(rawjson.Members(tool.Raw).Get("execution"))
	return rawjson.Text(execution.Get("taskSupport")) == "required"
}

// packTool is the tool as the host and the model see it.
func (s *server) packTool(name string, tool *mcpclient.Tool) pack.Tool {
	return pack.Tool{
		Name:          name,
		Kind:          pack.KindTool,
		Title:         tool.Title,
		Description:   tool.Describe(),
		InputSchema:   tool.InputSchema,
		OutputSchema:  onlyObject(tool.OutputSchema),
		Annotations:   onlyObject(tool.Annotations),
		Untrusted:     true,
		NeedsApproval: s.approval.needed(tool),
		CodeMode:      s.codeMode,
		Server:        s.name,
		ServerTool:    tool.Name,
	}
}

// onlyObject returns what is an object, which a host may count on, and nil for what a
// server has written in its place (B103).
func onlyObject(value []byte) pack.Raw {
	if rawjson.KindOf(value) != rawjson.Dict {
		return nil
	}
	return value
}

// sameTools reports whether two lists say the same to a host.
func sameTools(a, b []pack.Tool) bool {
	return slices.EqualFunc(a, b, func(x, y pack.Tool) bool {
		return x.Name == y.Name && x.Kind == y.Kind && x.Title == y.Title && x.Description == y.Description &&
			x.Server == y.Server && x.ServerTool == y.ServerTool &&
			bytes.Equal(x.InputSchema, y.InputSchema) && bytes.Equal(x.OutputSchema, y.OutputSchema) && bytes.Equal(x.Annotations, y.Annotations)
	})
}
