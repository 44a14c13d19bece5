package mcptools

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/oauth"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/pack/bridge"
)

// noObject and its like leave the pack unavailable.
const (
	noObject  = "the configuration of tanstack/mcp must be a JSON object with servers, an object of servers by name"
	wholeFile = "the configuration of tanstack/mcp looks like a whole mcp.json file: pass the object under mcpServers as servers"
)

// settings is one server of the configuration, judged.
type settings struct {
	name     string           // to the letter
	entry    *mcpclient.Entry // nil when the entry was refused
	refusal  string           // why, safe to show; "" when it was taken
	identity []byte           // of the entry, for definitionHash
	timeout  time.Duration    // to connect, to list, to answer a call
	oauth    bool
	auth     *oauth.Client // signs in to the server; nil where oauth is false
	codeMode bool
	approval approvalRule
	toolName nameTemplate
}

// duplicateRule is what happens when two servers give a tool the same name.
type duplicateRule bool

const (
	warnDuplicate duplicateRule = false // the first server keeps the name
	failDuplicate duplicateRule = true  // the later server is failed
)

// readConfig judges the configuration, each server on its own, in document order.
// The error, of kind unavailable, says that it cannot be read at all. Null is no
// servers.
func readConfig(config pack.Raw, host *pack.Host, opts *Options) ([]settings, duplicateRule, error) {
	if rawjson.KindOf(config) == rawjson.Null {
		return nil, warnDuplicate, nil
	}
	object, err := rawjson.Split(config, rawjson.Bounds{Depth: host.Limits.Int(limit.JSONDepth)})
	if errors.Is(err, rawjson.ErrNotObject) {
		return nil, false, unavailable(noObject)
	} else if err != nil {
		return nil, false, unavailable("the configuration of tanstack/mcp: %w", err)
	}
	if name, twice := object.Duplicate(); twice {
		return nil, false, unavailable("the configuration of tanstack/mcp holds %s twice", bridge.Quote(host.Scrub, name))
	}
	rule, err := readDuplicateRule(object.Opt("onDuplicateTool"))
	if err != nil {
		return nil, false, err
	}
	servers := object.Opt("servers")
	switch {
	case rawjson.KindOf(servers) == rawjson.Dict:
	case servers == nil && object.Get("mcpServers") != nil:
		return nil, false, unavailable(wholeFile)
	default:
		return nil, false, unavailable(noObject)
	}
	for _, m := range object {
		if name := m.Name(); name != "servers" && name != "onDuplicateTool" {
			host.Log.Warn("the configuration holds a member that has no effect", "member", host.Scrub.Reason(name, bridge.ShownName))
		}
	}
	entries, err := mcpclient.SplitServers(servers, host.Limits)
	if err != nil {
		return nil, false, unavailable("the configuration of tanstack/mcp: servers: %w", err)
	}
	return readServers(entries, host, opts), rule, nil
}

func unavailable(format string, args ...any) *pack.Error {
	return pack.Errorf(pack.KindUnavailable, format, args...)
}

func readDuplicateRule(value []byte) (duplicateRule, error) {
	switch {
	case value == nil, rawjson.Text(value) == "warn":
		return warnDuplicate, nil
	case rawjson.Text(value) == "error":
		return failDuplicate, nil
	}
	return false, unavailable(`onDuplicateTool must be "warn" or "error"`)
}

// readServers judges the entries. Every secret of the configuration is known
// before a word is said about any.
func readServers(entries []mcpclient.NamedEntry, host *pack.Host, opts *Options) []settings {
	rules := mcpclient.EntryRules{
		Limits:             host.Limits,
		Vars:               bridge.Vars(opts.Env, opts.Home),
		Scrub:              host.Scrub,
		RefuseOwnedHeaders: true,
		Local:              true,
		Reads:              []string{"timeoutMs", "codeMode", "needsApproval", "toolName", "oauth"},
	}
	reader := entryReader{rules: rules, signer: opts.signer, tokens: opts.signer.store(), host: host}
	list := make([]settings, len(entries))
	refusals := make([]error, len(entries))
	for i, e := range entries {
		list[i].name = e.Name
		if refusals[i] = e.Refused; e.Refused == nil {
			refusals[i] = list[i].read(e.Raw, reader)
		}
	}
	for i := range list {
		s := &list[i]
		log := bridge.NewServer(s.name, host).Logger()
		if refusals[i] != nil {
			s.entry, s.refusal = nil, host.Scrub.Reason(refusals[i].Error(), bridge.ShownReason)
			log.Warn("the MCP server's entry was refused", "reason", s.refusal)
			continue
		}
		for _, warning := range s.entry.Warnings {
			log.Warn("the MCP server's entry was taken with a warning", "warning", warning)
		}
	}
	return list
}

// An entryReader is what reading the entries of one pack takes.
type entryReader struct {
	rules  mcpclient.EntryRules
	signer *signer
	tokens oauth.Store
	host   *pack.Host
}

// read judges one entry. The error is safe to show.
func (s *settings) read(raw []byte, r entryReader) error {
	rules := r.rules
	entry, err := mcpclient.ParseEntry(s.name, raw, rules)
	if err != nil {
		return err
	}
	s.entry, s.identity = entry, entryIdentity(entry, raw)
	object := rawjson.Members(raw)
	signIn, err := readOAuth(object.Opt("oauth"), rules)
	if err != nil {
		return err
	}
	s.oauth = signIn != nil
	if s.oauth {
		if err := s.readSignIn(signIn, r); err != nil {
			return err
		}
	}
	if s.codeMode, err = readFlag("codeMode", object.Opt("codeMode")); err != nil {
		return err
	}
	if s.timeout, err = readTimeout(object.Opt("timeoutMs"), rules.Limits); err != nil {
		return err
	}
	if value := object.Opt("needsApproval"); value != nil {
		if s.approval, err = readApproval(value); err != nil {
			return err
		}
	}
	return s.readToolName(object.Opt("toolName"))
}

// readSignIn makes the entry one of a server that its user signs in to.
func (s *settings) readSignIn(config *oauth.Config, r entryReader) (err error) {
	if s.entry.Process != nil {
		// MCP basic/authorization: a server over stdio takes its credentials from
		// the environment.
		return errors.New("oauth is for servers with a url; give a local server its credentials in env")
	}
	if len(s.entry.Headers) > 0 {
		s.entry.Warnings = append(s.entry.Warnings, "headers have no effect together with oauth")
		s.entry.Headers = nil
	}
	s.approval = askUnlessReadOnly
	s.auth, err = r.signer.client(s.entry, config, r.tokens, r.host)
	return err
}

func (s *settings) readToolName(value []byte) error {
	s.toolName = defaultTemplate
	if value == nil {
		return nil
	}
	if kind := rawjson.KindOf(value); kind != rawjson.String {
		return fmt.Errorf("toolName must be a string, not %s", kind)
	}
	s.toolName = nameTemplate(rawjson.Text(value))
	if wrong := s.toolName.wrong(); wrong != "" {
		return errors.New(wrong)
	}
	return nil
}

func readFlag(key string, value []byte) (bool, error) {
	if kind := rawjson.KindOf(value); value != nil && kind != rawjson.Bool {
		return false, fmt.Errorf("%s must be true or false, not %s", key, kind)
	}
	return string(value) == "true", nil
}

// readTimeout reads timeoutMs, within the range of the limit server_time (L33).
func readTimeout(value []byte, table limit.Table) (time.Duration, error) {
	if value == nil {
		return table.Time(limit.ServerTime), nil
	}
	row := limit.ServerTime.Row()
	ms, err := strconv.ParseFloat(string(value), 64)
	if err != nil || rawjson.KindOf(value) != rawjson.Number || ms <= 0 || ms > float64(row.Max) {
		return 0, fmt.Errorf("timeoutMs must be a number of milliseconds above 0 and at most %d", row.Max)
	}
	return time.Duration(ms * float64(time.Millisecond)), nil
}
