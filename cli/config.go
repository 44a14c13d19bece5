package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// foreign are the members under which other programs keep what mcpServers holds.
// mcpServers is among them for who writes it in another case.
var foreign = []string{"servers", "context_servers", "mcp_servers", "mcp", "mcpServer", "mcpServers"}

// readConfig reads the mcp.json file of that name ("-" for stdin) and returns
// its object of servers by name: the value of mcpServers, or the whole of a file
// that has no such member. null is an object without members.
//
// The error is a *usageError without a name, a cancelled *pack.Error when ctx
// ended, and a *configError for all that is wrong with the file.
func (a *app) readConfig(ctx context.Context, name string, limits limit.Table) ([]byte, error) {
	if name == "" {
		return nil, &usageError{errors.New("no configuration; give the mcp.json file by --config FILE")}
	}
	text, err := a.readFile(ctx, name, limit.ConfigFile, limits)
	if err == nil {
		text, err = serversOf(name, text, limits)
	}
	if err != nil && ctx.Err() == nil {
		err = &configError{err}
	}
	return text, err
}

// serversOf returns the object of servers that a file holds.
func serversOf(name string, text []byte, limits limit.Table) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, fmt.Errorf(`%s is empty; write {"mcpServers": {"NAME": {"url": "https://..."}}}`, shownFile(name))
	}
	if err := rawjson.Check(text, rawjson.Bounds{Depth: limits.Int(limit.JSONDepth)}); err != nil {
		return nil, jsonError(name, text, err)
	}
	file := rawjson.Members(text)
	servers := bytes.TrimSpace(text)
	found := false
	for _, member := range file {
		switch {
		case member.Name() != "mcpServers":
		case found:
			// Programs differ in which of the two they take (T42).
			return nil, fmt.Errorf("%s: \"mcpServers\" stands twice; put all servers into one of them", shownFile(name))
		default:
			servers, found = member.Value, true
		}
	}
	if hint := misplaced(file); hint != "" && !found {
		return nil, fmt.Errorf("%s: %s", shownFile(name), hint)
	}
	switch kind := rawjson.KindOf(servers); {
	case kind == rawjson.Null:
		return []byte("{}"), nil
	case kind != rawjson.Dict:
		return nil, fmt.Errorf("%s: the MCP configuration must be a JSON object of servers by name, not %s", shownFile(name), kind)
	}
	return servers, nil
}

// misplaced says where the servers seem to be in a file without mcpServers, or ""
// when the file may be the object of servers itself.
func misplaced(file rawjson.Object) string {
	if rawjson.KindOf(file.Get("url")) == rawjson.String || rawjson.KindOf(file.Get("command")) == rawjson.String {
		return `this is the entry of one server; write {"mcpServers": {"NAME": ...}} around it`
	}
	for _, member := range file {
		name := member.Name()
		servers := rawjson.Members(member.Value)
		isForeign := slices.ContainsFunc(foreign, func(f string) bool { return strings.EqualFold(f, name) })
		switch {
		case !isForeign || len(servers) == 0 || servers.Get("url") != nil || servers.Get("command") != nil:
		case rawjson.KindOf(servers.Get("servers")) == rawjson.Dict:
			return fmt.Sprintf(`the servers are under "servers" in %q; write that object under "mcpServers"`, name)
		default:
			return fmt.Sprintf("the servers are under %q; rename it to \"mcpServers\"", name)
		}
	}
	return ""
}

// jsonError says where a text stops being JSON, by line and column, as editors
// count them. Comments and trailing commas get a word of their own, since some
// programs accept them.
func jsonError(name string, text []byte, err error) error {
	syntax, ok := errors.AsType[*rawjson.SyntaxError](err)
	if !ok {
		return err
	}
	at := min(syntax.Offset, len(text))
	before, rest := text[:at], text[at:]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := at - bytes.LastIndexByte(before, '\n')
	hint := ""
	switch previous := bytes.TrimRight(before, " \t\r\n"); {
	case bytes.HasPrefix(rest, []byte("//")), bytes.HasPrefix(rest, []byte("/*")):
		hint = "; JSON has no comments, so remove them"
	case bytes.HasSuffix(previous, []byte(",")) && len(rest) > 0 && (rest[0] == '}' || rest[0] == ']'):
		hint = "; JSON has no comma after the last member, so remove it"
	}
	return fmt.Errorf("%s:%d:%d: %s%s", shownFile(name), line, column, syntax.Reason, hint)
}
