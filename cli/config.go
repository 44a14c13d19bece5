package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/redact"
)

// foreign are the members under which other programs keep what mcpServers holds.
var foreign = []string{"servers", "context_servers", "mcp_servers", "mcp"}

// readConfig reads the mcp.json file of that name ("-" for stdin) and returns
// its object of servers by name: the value of mcpServers, or the whole of a file
// that has no such member.
func (a *app) readConfig(name string, limits limit.Table) ([]byte, error) {
	if name == "" {
		return nil, &usageError{errors.New("no configuration; give the mcp.json file by --config FILE")}
	}
	text, err := a.readFile(name, limit.ConfigFile, limits)
	if err != nil {
		return nil, err
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if err := rawjson.Check(text, rawjson.Bounds{Depth: limits.Int(limit.JSONDepth)}); err != nil {
		return nil, jsonError(name, text, err)
	}
	file := rawjson.Members(text)
	if servers := file.Get("mcpServers"); servers != nil {
		return servers, nil
	}
	for _, member := range foreign {
		servers := rawjson.Members(file.Get(member))
		if len(servers) > 0 && servers.Get("url") == nil && servers.Get("command") == nil {
			return nil, fmt.Errorf("%s: the servers are under %q; rename it to \"mcpServers\"", redact.Escape(name), member)
		}
	}
	return bytes.TrimSpace(text), nil
}

// readFile reads a file ("-" for stdin) of at most the size that bound allows.
func (a *app) readFile(name string, bound limit.Name, limits limit.Table) ([]byte, error) {
	r := a.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	}
	text, err := io.ReadAll(io.LimitReader(r, int64(limits.Int(bound))+1))
	if err == nil && len(text) > limits.Int(bound) {
		err = limits.Exceeded(bound, name)
	}
	return text, err
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
	return fmt.Errorf("%s:%d:%d: %s%s", redact.Escape(name), line, column, syntax.Reason, hint)
}
