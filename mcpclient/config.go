package mcpclient

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/redact"
)

// An Entry is one server of an mcp.json, judged and expanded. No verb prints a
// value of it: what may be secret is a redact.Secret.
type Entry struct {
	Name     string        // as the configuration writes it, to the letter
	Process  *Process      // of a local server, which has no URL and no Headers; nil for a remote one
	URL      redact.Secret // absolute, http or https, without a fragment
	Shown    string        // the URL as people may see it
	Headers  []Header      // in document order, names distinct whatever their case
	Pin      *Revision     // the revision that protocolVersion names; nil to find out
	Legacy   bool          // protocolVersion is "legacy": only revisions with a handshake
	Warnings []string      // for people, not for models; they name keys, never values
}

// A Header is one configured header. Name is an HTTP token.
type Header struct {
	Name  string
	Value redact.Secret
}

// EntryRules is what judging an entry needs besides the entry.
type EntryRules struct {
	Limits limit.Table
	Vars   Vars

	// Scrub learns every secret of an entry before anything is said about it,
	// those of refused entries too. Nil for a caller that shows nothing.
	Scrub *redact.Scrubber

	// RefuseOwnedHeaders refuses an entry that sets a header which the client
	// sets itself. Without it such a header is dropped with a warning, but for
	// the three that the seed of runvil/mcp names, which always refuse.
	RefuseOwnedHeaders bool

	// Local takes entries of local servers. Without it they are recognised and
	// refused.
	Local bool

	// Reads are the members that the caller reads from the entry itself; of
	// others that we do not read, people are warned when they may rely on them.
	Reads []string
}

// A Refusal says why an entry cannot be used. Its text is safe to show: it
// names keys, never values.
type Refusal struct {
	Reason string
	Err    error // a *limit.Error, or nil
}

func (r *Refusal) Error() string { return r.Reason }

func (r *Refusal) Unwrap() error { return r.Err }

func refuse(format string, args ...any) *Refusal {
	return &Refusal{Reason: fmt.Sprintf(format, args...)}
}

func exceeded(table limit.Table, name limit.Name, where string) *Refusal {
	err := table.Exceeded(name, where)
	return &Refusal{Reason: err.Error(), Err: err}
}

// A NamedEntry is one member of an mcpServers object, not yet judged.
type NamedEntry struct {
	Name string
	Raw  []byte

	// Refused is a *Refusal when the object that holds the entry already rules
	// it out: its name stands twice, or there are too many servers.
	Refused error
}

// SplitServers returns the members of an mcpServers object in document order,
// one for each name. null is an object without members. A name that stands
// twice is refused, and so are the entries beyond the limit of servers, by name
// order, so that which ones does not depend on how the file is sorted. The error
// is rawjson.ErrNotObject or a *rawjson.SyntaxError.
func SplitServers(config []byte, table limit.Table) ([]NamedEntry, error) {
	if rawjson.KindOf(config) == rawjson.Null {
		return nil, rawjson.Check(config, rawjson.Bounds{})
	}
	object, err := rawjson.Split(config, rawjson.Bounds{Depth: table.Int(limit.JSONDepth)})
	if err != nil {
		return nil, err
	}
	entries := make([]NamedEntry, 0, len(object))
	index := make(map[string]int, len(object))
	for _, m := range object {
		name := m.Name()
		if at, twice := index[name]; twice {
			entries[at].Refused = refuse("the name stands twice in the configuration; give each server a name of its own")
			continue
		}
		index[name] = len(entries)
		entry := NamedEntry{Name: name, Raw: m.Value}
		if strings.ContainsRune(name, 0) {
			entry.Refused = refuse("the name holds a NUL character")
		}
		entries = append(entries, entry)
	}
	if most := table.Int(limit.Servers); len(entries) > most {
		names := make([]string, len(entries))
		for i := range entries {
			names[i] = entries[i].Name
		}
		slices.Sort(names)
		for _, name := range names[most:] {
			entries[index[name]].Refused = exceeded(table, limit.Servers, "the number of servers")
		}
	}
	return entries, nil
}

// What type may say, in the spellings of the dialects (mcp-json of the clients in
// use). Other values are ignored.
var (
	localTypes  = map[string]bool{"stdio": true, "local": true}
	remoteTypes = map[string]bool{"http": true, "streamable-http": true, "streamable_http": true, "streamableHttp": true}
)

// localRefusal is the seed's sentence, to the letter.
const localRefusal = "local MCP servers (command) are not supported yet"

// ParseEntry judges one entry on its own. Member names are matched in exact
// case; members and type values that it does not know are ignored. The error is
// a *Refusal.
//
// url and command: null and the empty string count as not written. command alone
// is the local shape, which the rules take or refuse. Neither is refused, and so
// are both, unless the rules take either shape and type says which one is meant.
func ParseEntry(name string, raw []byte, rules EntryRules) (*Entry, error) {
	if len(raw) > rules.Limits.Int(limit.ConfigEntry) {
		return nil, exceeded(rules.Limits, limit.ConfigEntry, "the entry")
	}
	if kind := rawjson.KindOf(raw); kind != rawjson.Dict {
		return nil, refuse("the entry must be an object, not %s", kind)
	}
	p := &entryParser{rules: rules, object: rawjson.Members(raw), entry: &Entry{Name: name}}
	p.learn("env")
	p.learn("headers")
	if err := p.parse(); err != nil {
		return nil, err
	}
	return p.entry, nil
}

type entryParser struct {
	rules  EntryRules
	object rawjson.Object
	entry  *Entry
}

// parse returns a *Refusal as an error, or nil.
func (p *entryParser) parse() error {
	if key, twice := p.object.Duplicate(); twice {
		return refuse("%s stands twice", shownKey(key))
	}
	url, command := written(p.object.Get("url")), written(p.object.Get("command"))
	kind := rawjson.Text(p.object.Get("type"))
	if p.rules.Local {
		switch {
		case localTypes[kind] && command:
			return p.local()
		case localTypes[kind]:
			return refuse("the entry has the type %q and no command", kind)
		case remoteTypes[kind] && !url:
			return refuse("the entry has the type %q and no url", kind)
		case remoteTypes[kind]:
			command = false
		case command && !url:
			return p.local()
		}
	}
	switch {
	case url && command:
		return refuse("the entry has both url and command; keep one of them")
	case command:
		return refuse(localRefusal)
	case !url:
		return p.neither()
	case kind == "sse":
		return refuse(`type "sse" is the legacy transport, which is not supported; use the server's Streamable HTTP url`)
	}
	for _, step := range []func() error{p.url, p.headers, p.protocolVersion} {
		if err := step(); err != nil {
			return err
		}
	}
	p.foreignFields()
	return nil
}

// written reports whether a member counts as there: null and "" do not.
func written(value []byte) bool {
	return value != nil && rawjson.KindOf(value) != rawjson.Null && string(value) != `""`
}

// neither explains an entry without an address, as far as it can be guessed
// what its writer meant.
func (p *entryParser) neither() error {
	for _, alias := range []string{"serverUrl", "httpUrl", "server_url", "baseUrl", "base_url", "uri", "endpoint", "URL", "Url"} {
		if written(p.object.Get(alias)) {
			return refuse("the entry has no url; write url instead of %s", alias)
		}
	}
	for _, m := range p.object {
		if meant := p.meant(m.Name()); meant == "url" || meant == "command" {
			return refuse("the entry has neither url nor command; write %s instead of %s", meant, shownKey(m.Name()))
		}
	}
	for _, empty := range []string{"url", "command"} {
		if p.object.Get(empty) != nil {
			return refuse("the entry has neither url nor command: %s is empty", empty)
		}
	}
	if p.entry.Name == "mcpServers" || p.entry.Name == "servers" {
		return refuse("the entry has neither url nor command; this looks like a whole mcp.json file: pass the object under %s", p.entry.Name)
	}
	return refuse("the entry has neither url nor command")
}

// text returns the expanded text of a string value. key names it in refusals.
func (p *entryParser) text(key string, value []byte) (string, error) {
	if kind := rawjson.KindOf(value); kind != rawjson.String {
		return "", refuse("%s must be a string, not %s", key, kind)
	}
	text, err := p.rules.Vars.Expand(rawjson.Text(value), p.secret)
	if err != nil {
		return "", refuse("%s: %s", key, err)
	}
	return text, nil
}

func (p *entryParser) protocolVersion() error {
	value := p.object.Opt("protocolVersion")
	if value == nil {
		return nil
	}
	text, err := p.text("protocolVersion", value)
	if err != nil {
		return err
	}
	switch text {
	case "auto":
	case "legacy":
		p.entry.Legacy = true
	default:
		if p.entry.Pin = RevisionNamed(text); p.entry.Pin == nil {
			return refuse("protocolVersion is unknown; write auto, legacy or one of %s", knownVersions())
		}
	}
	return nil
}

// learn makes the string values of an object secret, whatever becomes of the
// entry. Those with a placeholder are known when that is replaced.
func (p *entryParser) learn(key string) {
	for _, m := range rawjson.Members(p.object.Get(key)) {
		if text := rawjson.Text(m.Value); !ours.MatchString(text) {
			p.secret(text)
		}
	}
}

// secret makes values known to the scrubber. Longer ones than any entry may hold
// are never sent or shown, and too long for a Scrubber to take.
func (p *entryParser) secret(values ...string) {
	for _, value := range values {
		if p.rules.Scrub != nil && len(value) <= p.rules.Limits.Int(limit.HeaderValue) {
			p.rules.Scrub.Add(value)
		}
	}
}

func (p *entryParser) warn(format string, args ...any) {
	p.entry.Warnings = append(p.entry.Warnings, fmt.Sprintf(format, args...))
}
